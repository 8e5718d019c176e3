/* repoinit.h - the repository initialisation language: text in, a list of statements out.
 *
 * A script is a sequence of statements, one a line; blocks end with `end`. The whole text is parsed
 * before anything is executed, so that a script with an error in its last line changes nothing.
 * Statements of the language which this version cannot carry out are recognised and refused, with
 * the reason. scan.h makes the words; cli/repoinit.c executes the list. */
#pragma once
#include <boardwalk/types.h>

#define REPOINIT_MAX_SCRIPT (1u << 20) /* octets */

/* A place in the text, both from 1; a column counts characters. */
struct repoinit_at {
	unsigned line, column;
};

struct repoinit_error {
	struct repoinit_at at;
	char               text[256];
};

/* The list of the repository itself, where a path is expected. */
#define REPOINIT_REPOSITORY ":repository"

/* One word of the text, with its quotes and escapes taken away; NUL-terminated. */
struct repoinit_word {
	struct repoinit_word *next;
	struct bw_str         text;
	struct repoinit_at    at;
	/* Of a path that begins with home(NAME) or authorizable(NAME) the name and what stands behind
	 * it, else absent; whoever executes the script puts the whole path into text. */
	struct bw_str home, below;
};

struct repoinit_segment { /* one name of `create path` */
	struct repoinit_segment *next;
	struct bw_str            name;
	struct repoinit_word    *type; /* NULL: none stated */
	struct repoinit_word    *mixins;
	struct repoinit_at       at; /* the slash before the name, or the quote before the path */
};

enum repoinit_acl_action { REPOINIT_ALLOW, REPOINIT_DENY, REPOINIT_REMOVE_ALL };

struct repoinit_restriction { /* the names of one entry's differ */
	struct repoinit_restriction *next;
	struct repoinit_word        *name;
	struct repoinit_word        *values; /* NULL: none */
};

/* Of paths and principals a line has those that its statement does not. */
struct repoinit_acl_line {
	struct repoinit_acl_line *next;
	struct repoinit_at        at;
	enum repoinit_acl_action  action;
	struct repoinit_word     *privileges; /* NULL for REPOINIT_REMOVE_ALL */
	struct repoinit_word     *paths, *principals;
	struct repoinit_restriction
		*restrictions; /* NULL: none, and always for REPOINIT_REMOVE_ALL */
};

enum repoinit_type {
	REPOINIT_STRING,
	REPOINIT_LONG,
	REPOINIT_DOUBLE,
	REPOINIT_DATE,
	REPOINIT_BOOLEAN,
};

struct repoinit_property {
	struct repoinit_property *next;
	struct repoinit_at        at;
	bool                      only_if_missing; /* `default` instead of `set` */
	struct bw_str             name;
	enum repoinit_type        type;
	bool                      multiple;
	struct repoinit_word     *values; /* each fits the type */
};

enum repoinit_principal { REPOINIT_USER, REPOINIT_SERVICE, REPOINIT_GROUP };

/* A definition of a property or child in a node type (JCR 2.0 sections 3.7.2 to 3.7.4). */
struct repoinit_item {
	struct repoinit_item *next;
	struct repoinit_at    at;
	struct bw_str         name; /* "*": of those without a definition of their own */
	bool                  child;
	const char           *type;     /* a property's: its tag, "*": any */
	struct repoinit_word *required; /* a child's types; NULL: any */
	struct repoinit_word *defaults; /* values; of a child one type */
	struct repoinit_word *constraints;
	bool                  mandatory, auto_created, is_protected, multiple;
	const char           *on_version; /* "COPY" unless stated */
};

struct repoinit_node_type {
	struct repoinit_node_type *next;
	struct repoinit_at         at;
	struct bw_str              name;
	struct repoinit_word      *supers;
	bool                       mixin, abstract, orderable;
	struct bw_str              primary_item; /* absent: none */
	struct repoinit_item      *items;
};

struct repoinit_prefix { /* a namespace that a block of node types brings along */
	struct repoinit_prefix *next;
	struct repoinit_word   *prefix, *uri;
};

enum repoinit_kind {
	REPOINIT_CREATE_PATH,
	REPOINIT_ENSURE_NODES,
	REPOINIT_CREATE_PRINCIPAL,
	REPOINIT_DELETE_PRINCIPAL,
	REPOINIT_DISABLE_USER,
	REPOINIT_ADD_MEMBERS,
	REPOINIT_REMOVE_MEMBERS,
	REPOINIT_SET_ACL,
	REPOINIT_REMOVE_ACE,
	REPOINIT_DELETE_ACL,
	REPOINIT_SET_OWN_ACL,    /* entries of principals' own lists */
	REPOINIT_ENSURE_OWN_ACL, /* the same, and nothing else will do */
	REPOINIT_REMOVE_OWN_ACE,
	REPOINIT_DELETE_OWN_ACL,
	REPOINIT_SET_PROPERTIES,
	REPOINIT_ADD_MIXIN,
	REPOINIT_REMOVE_MIXIN,
	REPOINIT_REGISTER_NAMESPACE,
	REPOINIT_REGISTER_NODE_TYPES,
	REPOINIT_REGISTER_PRIVILEGE,
};

struct repoinit_statement {
	struct repoinit_statement *next;
	enum repoinit_kind         kind;
	struct repoinit_at         at;
	union {
		struct {
			struct repoinit_word    *default_type; /* NULL: none stated */
			struct repoinit_segment *segments;     /* NULL: the root */
		} path;                                        /* create and ensure */
		struct {
			enum repoinit_principal class;
			struct repoinit_word *names;
			struct repoinit_word *folder;   /* NULL: no path stated */
			bool                  forced;   /* whoever lives elsewhere moves */
			struct repoinit_word *password; /* NULL: cannot log in by password */
			bool                  hashed;   /* it is a complete argon2id verifier */
		} principal;                            /* create and delete */
		struct {
			struct repoinit_word *name, *reason;
		} disable;
		struct {
			struct repoinit_word *members, *group;
		} membership; /* add and remove */
		struct {
			struct repoinit_word     *paths, *principals; /* one of them is NULL */
			struct repoinit_acl_line *lines;              /* none for delete */
			bool                      ignore_missing_principal;
			bool of_repository; /* every line's path is the repository */
		} acl;                      /* set, remove and delete */
		struct {
			struct repoinit_word     *paths;
			struct repoinit_property *lines;
		} properties;
		struct {
			struct repoinit_word *names, *paths;
		} mixins; /* add and remove */
		struct {
			struct repoinit_word *prefix, *uri;
		} name_space;
		struct {
			struct repoinit_prefix    *prefixes;
			struct repoinit_node_type *types;
		} node_types;
		struct {
			struct repoinit_word *name, *parts; /* parts may be NULL */
			bool                  abstract;
		} privilege;
	};
};

struct repoinit_script;

/* 0 and *ret_script (owned: free with repoinit_free), or -1 and *ret_error. text need not end in a
 * NUL and is not needed afterwards. */
int repoinit_parse(const char *text, size_t n, struct repoinit_script **ret_script,
                   struct repoinit_error *ret_error);
/* The statements in the order of the text; live as long as the script. */
const struct repoinit_statement *repoinit_first(const struct repoinit_script *script);
void repoinit_free(struct repoinit_script *script); /* wipes passwords */
