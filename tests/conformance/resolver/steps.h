/* steps.h - what a row about resolvers does, in words, through the public API alone: so that it runs in
 * a bundle of a real gateway and, with another host table, in a program with a fake repo.
 *
 * Steps are separated by " ; ", words by a blank. "B: step" uses the resolver B, others A; A is the
 * service user's and there when first used. Paths begin with / and are below the root given; // is
 * the repository's own. What a step says is put behind the others with " ; " between, unless it is ok.
 *
 *   get PATH                       there
 *   p PATH NAME                    the property, as below; as long, double, boolean, date behind it: read so
 *   names PATH                     of the properties
 *   field PATH path|name|type|super|primary
 *   is PATH TYPE                   yes, no
 *   children PATH [N]              the names, read N at a time; - if there are none
 *   tree PATH                      name(property=value ... child ...)
 *   keep PATH, kept NAME           a resource is kept, and its property read later
 *   clean PATH                     its children are deleted
 *   create PATH NAME [NAME=VALUE ...], delete PATH, move|copy PATH PARENT [NAME]
 *   order PATH NAME before NEXT|last             moved, or in place
 *   set PATH NAME=VALUE, unset PATH NAME, type PATH TYPE, mixin PATH +NAME|-NAME
 *   may PATH privilege,..          yes, no
 *   granted PATH                   all privileges
 *   entries PATH                   of its list: +WHO or -WHO, privileges, restrictions; - if there are none
 *   allow|deny PATH WHO privilege,.. [NAME=VALUE]..    an entry more; unallow, undeny: that entry less
 *   clear PATH [WHO]
 *   checkin, checkout PATH, restore PATH NAME [removing], out PATH (is it checked out: yes, no)
 *   label PATH VERSION LABEL [moving], unlabel PATH LABEL
 *   versions PATH [N]              "name* <predecessors >successors =labels ...", * at the base, N at a time
 *   version PATH NAME[/PART] [PROPERTY]   as p and names, of what the resource, or what was at PART below it, was
 *   referred PATH NAME PROPERTY    the same, of the version that the Reference NAME of the resource means
 *   unversion PATH NAME
 *   octets PATH NAME [VERSION[/PART]]     of a Binary
 *   commit, refresh, revert, close
 *   changes, live                  yes, no
 *   why                            of the last failure: path below the root, or -; then its text if long
 *   reason, text                   yes if there is a text; the text
 *   clone NAME [USER:PASSWORD] [ATTRIBUTE=TEXT ...]
 *   request NAME                   NAME is the request's own resolver
 *   service NAME SUBSERVICE        another service user's
 *   leave                          clones of this request are not closed at its end
 *   user, attr NAME, attrs
 *   many N STEP                    with # as 0 to N - 1; what the last one says that says something
 *
 * Values: text, s:text, l:5 d:2.5 b:true dec: date: name: path: ref: weak: uri: bin:, lists [a,b] l[1,2]. Errors
 * are said as the last part of their names (boardwalk/err.h). */
#pragma once
#include <boardwalk/boardwalk.h>

/* Runs text, which is changed, and puts what is said into out. BW_OK, or the error of a request that
 * is over. */
int steps_run(struct bw_req *req, struct bw_bundle *bundle, const char *root, char *text, char *out,
              size_t size);
