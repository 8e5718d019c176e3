/* commit_judge.c - what the transaction has found, change by change, and whether who asks may do that.
 *
 * repo.commit_apply has made the changes, as far as it came, and says of each what a permission is
 * judged by; nothing of it is committed yet. Judged is in the order of the changes, and of each first
 * whether what it is about may be seen: what may not is answered like what is not there. Then whether
 * the change is permitted, and only then whether it came about: nobody learns from a conflict what he
 * may not read.
 *
 *    node not there, or not seen    it was read: conflict; it was not: not found
 *    removing what is not seen      nothing is removed: the commit is tried again without it
 *
 * Owns: nothing. Runs in: repo's loop. Fails with: BW_ECONFLICT, BW_ENOTFOUND, BW_EFORBIDDEN,
 * BW_ECONTENT, BW_ECONTENTSIZE, in c->err. Tests: tests/conformance/commit. */
#include "commit_impl.h"
#include "permit.h"
#include <base/fatal.h>
#include <base/json.h>

enum column {
	N,
	OUTCOME,
	NODE,
	NODE_TYPE,
	PARENT_TYPE,
	HAD,
	DETAIL,
	NAMES, /* one a line */
	N_COLUMNS
};

struct judge {
	struct commit        *c;
	struct permit         permit;
	struct arena          arena;
	const struct pg_rows *rows;
	unsigned              row;    /* of the change that is looked at */
	unsigned              number; /* of the change in the list */
	struct change         ch;
	struct bw_str         outcome, type, parent_type;
	bool                  had;
	struct bw_str         unseen; /* copying: the original that may not be read, last */
	struct json_out       hidden; /* into c->hidden */
};

static bool came_to(const struct judge *j, const char *outcome)
{
	return bw_str_eq(j->outcome, bw_str(outcome));
}

static bool is_done(const struct judge *j)
{
	return came_to(j, "done") || came_to(j, "spread");
}

static enum commit_verdict refuse(struct judge *j, int err, struct bw_str path, const char *why)
{
	commit_refuse(j->c, err, path, bw_str(why));
	return VERDICT_REFUSED;
}

static enum commit_verdict relax(struct judge *j, enum commit_relax how)
{
	if (j->c->relax == NULL)
		j->c->relax = xcalloc(j->c->list.n, 1);
	j->c->relax[j->number] = (uint8_t)how;
	return VERDICT_AGAIN;
}

/* ---- permissions ---- */

static int ask(struct judge *j, enum permit_op op, struct bw_str path, struct bw_str type,
               struct bw_str property)
{
	struct acl_item item = { path, type, property };

	return permit(&j->permit, op, &item, j->parent_type);
}

static bool sees(struct judge *j, struct bw_str path, struct bw_str type)
{
	return ask(j, PERMIT_READ_NODE, path, type, BW_ABSENT) == BW_OK;
}

/* Whoever has read it is told that it has changed; whoever has not, that it does not exist. */
static enum commit_verdict not_there(struct judge *j)
{
	return j->ch.version != 0 ? refuse(j, BW_ECONFLICT, j->ch.path, "not there any more")
	                          : refuse(j, BW_ENOTFOUND, j->ch.path, "not found");
}

static enum commit_verdict forbidden(struct judge *j, struct bw_str path)
{
	return refuse(j, BW_EFORBIDDEN, path, "not permitted");
}

/* What the rules of the content say of a change that is permitted. */
static enum commit_verdict outcome_of(struct judge *j)
{
	struct bw_str detail = pg_text(j->rows, j->row, DETAIL);

	if (is_done(j) || came_to(j, "same"))
		return VERDICT_FINE;
	if (came_to(j, "conflict"))
		return refuse(j, BW_ECONFLICT, j->ch.path, "changed meanwhile");
	if (came_to(j, "no_version"))
		return refuse(j, BW_ENOTFOUND, j->ch.path, "no such version or label");
	if (came_to(j, "checked_in")) {
		commit_refuse(j->c, BW_ECONFLICT, j->ch.path, detail);
		return VERDICT_REFUSED;
	}
	commit_refuse(j->c, came_to(j, "too_big") ? BW_ECONTENTSIZE : BW_ECONTENT, j->ch.path,
	              detail);
	return VERDICT_REFUSED;
}

/* ---- kinds ---- */

/* An addition at target: it is permitted there, and nothing else is there. */
static enum commit_verdict judge_target(struct judge *j, struct bw_str target, bool typed)
{
	int err =
		ask(j, typed ? PERMIT_ADD_TYPED_NODE : PERMIT_ADD_NODE, target, j->type, BW_ABSENT);

	if (came_to(j, "no_parent") || err == BW_ENOTFOUND)
		return j->ch.kind == CHANGE_CREATE ? not_there(j)
		                                   : refuse(j, BW_ENOTFOUND, target, "no parent");
	if (err != BW_OK)
		return forbidden(j, target);
	if (!came_to(j, "exists"))
		return VERDICT_FINE;
	return sees(j, target, BW_ABSENT) ? refuse(j, BW_ECONFLICT, target, "exists already")
	                                  : forbidden(j, target);
}

static bool is_made_by_itself(struct bw_str name)
{
	return bw_str_eq(name, BW_STR("jcr:created")) || bw_str_eq(name, BW_STR("jcr:createdBy"));
}

/* Whether the new node's type is more than what its parent gives: it is stated, or it is a resource type
 * that is a node type's name. */
static bool is_typed(const struct judge *j)
{
	const uint8_t      *at = j->ch.props;
	struct change_value value;
	struct bw_str       name;

	if (j->ch.name.n > 0 || j->ch.n_mixins > 0)
		return true;
	for (unsigned i = 0; i < j->ch.n_props && j->type.n > 0; i++) {
		change_next_prop(&at, &name, &value);
		if (bw_str_eq(name, BW_STR("sling:resourceType")) && value.n == 1 &&
		    bw_str_eq(change_next_str(&value.at), j->type))
			return true;
	}
	return false;
}

static enum commit_verdict judge_create(struct judge *j)
{
	enum commit_verdict v = judge_target(j, j->ch.path, is_typed(j));
	const uint8_t      *at = j->ch.props;
	struct change_value value;
	struct bw_str       name;

	for (unsigned i = 0; v == VERDICT_FINE && i < j->ch.n_props; i++) {
		change_next_prop(&at, &name, &value);
		if (!is_made_by_itself(name) &&
		    ask(j, PERMIT_ADD_PROPERTY, j->ch.path, j->type, name) != BW_OK)
			v = forbidden(j, j->ch.path);
	}
	return v == VERDICT_FINE ? outcome_of(j) : v;
}

static enum commit_verdict judge_remove(struct judge *j)
{
	enum commit_verdict v;

	if (j->type.p == NULL)
		return VERDICT_FINE; /* removed by somebody else */
	if (!sees(j, j->ch.path, j->type))
		return relax(j, RELAX_SKIP);
	if (ask(j, PERMIT_REMOVE_NODE, j->ch.path, j->type, BW_ABSENT) != BW_OK)
		return forbidden(j, j->ch.path);
	v = outcome_of(j);
	if (v == VERDICT_FINE)
		permit_removed(&j->permit, j->ch.path);
	return v;
}

static enum commit_verdict judge_move(struct judge *j)
{
	enum commit_verdict v;

	if (came_to(j, "gone") || !sees(j, j->ch.path, j->type))
		return not_there(j);
	if (ask(j, PERMIT_REMOVE_NODE, j->ch.path, j->type, BW_ABSENT) != BW_OK)
		return forbidden(j, j->ch.path);
	v = judge_target(j, j->ch.name, true);
	if (v == VERDICT_FINE)
		v = outcome_of(j);
	if (v == VERDICT_FINE && is_done(j))
		permit_moved(&j->permit, j->ch.path, j->ch.name);
	return v;
}

static enum commit_verdict judge_copy(struct judge *j)
{
	enum commit_verdict v;

	if (came_to(j, "gone") || !sees(j, j->ch.path, j->type))
		return not_there(j);
	v = judge_target(j, j->ch.name, true);
	return v == VERDICT_FINE ? outcome_of(j) : v;
}

static enum commit_verdict judge_order(struct judge *j)
{
	const char *slash = memrchr(j->ch.path.p, '/', j->ch.path.n);
	size_t      n = slash == NULL || slash == j->ch.path.p ? 1 : (size_t)(slash - j->ch.path.p);
	struct bw_str parent = { j->ch.path.p, n };
	const char   *sibling;

	if (came_to(j, "gone") || !sees(j, j->ch.path, j->type))
		return not_there(j);
	if (ask(j, PERMIT_ORDER, parent, j->parent_type, BW_ABSENT) != BW_OK)
		return forbidden(j, parent);
	sibling = arena_printf(&j->arena, "%.*s/%s", n > 1 ? (int)n : 0, parent.p, j->ch.name.p);
	if (came_to(j, "no_sibling") || (j->ch.name.n > 0 && !sees(j, bw_str(sibling), BW_ABSENT)))
		return refuse(j, BW_ECONTENT, bw_str(sibling), "no such sibling");
	return outcome_of(j);
}

static enum commit_verdict judge_set(struct judge *j)
{
	enum permit_op op = j->had ? PERMIT_ALTER_PROPERTY : PERMIT_ADD_PROPERTY;

	if (came_to(j, "gone") || !sees(j, j->ch.path, j->type))
		return not_there(j);
	if (ask(j, op, j->ch.path, j->type, j->ch.name) != BW_OK)
		return forbidden(j, j->ch.path);
	if (came_to(j, "conflict") && j->had &&
	    ask(j, PERMIT_READ_PROPERTY, j->ch.path, j->type, j->ch.name) != BW_OK)
		return relax(j, RELAX_BASE);
	return outcome_of(j);
}

static enum commit_verdict judge_unset(struct judge *j)
{
	if (came_to(j, "gone") || !sees(j, j->ch.path, j->type))
		return not_there(j);
	if (!j->had)
		return VERDICT_FINE; /* removed by somebody else */
	if (ask(j, PERMIT_READ_PROPERTY, j->ch.path, j->type, j->ch.name) != BW_OK)
		return relax(j, RELAX_SKIP);
	if (ask(j, PERMIT_REMOVE_PROPERTY, j->ch.path, j->type, j->ch.name) != BW_OK)
		return forbidden(j, j->ch.path);
	return outcome_of(j);
}

static enum commit_verdict judge_type(struct judge *j)
{
	if (came_to(j, "gone") || !sees(j, j->ch.path, j->type))
		return not_there(j);
	if (ask(j, PERMIT_CHANGE_TYPE, j->ch.path, j->type, BW_ABSENT) != BW_OK)
		return forbidden(j, j->ch.path);
	return outcome_of(j);
}

/* An edit of a list: of the node's, by the entries that were there before this commit. */
static enum commit_verdict judge_list(struct judge *j)
{
	if (came_to(j, "gone") || !sees(j, j->ch.path, j->type))
		return not_there(j);
	if (ask(j, PERMIT_MODIFY_ACL, j->ch.path, j->type, BW_ABSENT) != BW_OK)
		return forbidden(j, j->ch.path);
	return outcome_of(j);
}

/* What is done with a version needs one privilege, on its node, and what comes about by it is not looked
 * at; but for what a restore takes away elsewhere. */
static enum commit_verdict judge_version(struct judge *j)
{
	if (came_to(j, "gone") || !sees(j, j->ch.path, j->type))
		return not_there(j);
	if (ask(j, PERMIT_VERSION, j->ch.path, j->type, BW_ABSENT) != BW_OK)
		return forbidden(j, j->ch.path);
	if (!came_to(j, "exists"))
		return outcome_of(j);
	switch (j->ch.kind) {
	case CHANGE_RESTORE:
		return refuse(j, BW_ECONFLICT, j->ch.path, "a part of the version is elsewhere");
	case CHANGE_VERSION_REMOVE:
		return refuse(j, BW_ECONFLICT, j->ch.path, "it is based on this version");
	default:
		return refuse(j, BW_ECONFLICT, j->ch.path, "another version has the label");
	}
}

/* A node that stood elsewhere, and is a part of the version that was restored. */
static enum commit_verdict judge_displaced(struct judge *j)
{
	struct bw_str path = pg_text(j->rows, j->row, DETAIL);

	if (ask(j, PERMIT_REMOVE_NODE, path, j->type, BW_ABSENT) != BW_OK)
		return refuse(j, BW_EFORBIDDEN, j->ch.path, "a part of the version is elsewhere");
	buf_append(&j->c->displaced, path.p, path.n);
	buf_append(&j->c->displaced, "", 1);
	permit_removed(&j->permit, path);
	return VERDICT_FINE;
}

static enum commit_verdict (*const judges[CHANGE_KINDS])(struct judge *) = {
	[CHANGE_CREATE] = judge_create,
	[CHANGE_REMOVE] = judge_remove,
	[CHANGE_MOVE] = judge_move,
	[CHANGE_COPY] = judge_copy,
	[CHANGE_ORDER] = judge_order,
	[CHANGE_SET] = judge_set,
	[CHANGE_UNSET] = judge_unset,
	[CHANGE_SET_TYPE] = judge_type,
	[CHANGE_MIXIN_ADD] = judge_type,
	[CHANGE_MIXIN_REMOVE] = judge_type,
	[CHANGE_ACE_ADD] = judge_list,
	[CHANGE_ACE_REMOVE] = judge_list,
	[CHANGE_ACL_CLEAR] = judge_list,
	[CHANGE_CHECKIN] = judge_version,
	[CHANGE_CHECKOUT] = judge_version,
	[CHANGE_RESTORE] = judge_version,
	[CHANGE_LABEL_ADD] = judge_version,
	[CHANGE_LABEL_REMOVE] = judge_version,
	[CHANGE_VERSION_REMOVE] = judge_version,
};

/* ---- copies ---- */

/* Whether a copied node lies below one whose copy is not to be. */
static bool is_below(struct bw_str path, struct bw_str node)
{
	return node.p != NULL && path.n > node.n && path.p[node.n] == '/' &&
	       memcmp(path.p, node.p, node.n) == 0;
}

/* One property of a copy: what may not be read is not there; else it is an addition like another. */
static bool judge_copied_property(struct judge *j, struct bw_str original, struct bw_str copy,
                                  struct bw_str name, bool *ret_hidden)
{
	*ret_hidden = false;
	if (is_made_by_itself(name) || bw_str_eq(name, BW_STR("jcr:uuid")) ||
	    bw_str_eq(name, BW_STR("jcr:mixinTypes")))
		return true;
	*ret_hidden = ask(j, PERMIT_READ_PROPERTY, original, j->type, name) != BW_OK;
	return *ret_hidden || ask(j, PERMIT_ADD_PROPERTY, copy, j->type, name) == BW_OK;
}

static bool judge_copied_properties(struct judge *j, struct bw_str original, struct bw_str copy)
{
	struct bw_str names = pg_text(j->rows, j->row, NAMES), name;
	bool          hidden, hides = false;

	for (; names.n > 0;
	     names.p += name.n + 1, names.n -= name.n < names.n ? name.n + 1 : name.n) {
		name = (struct bw_str){ names.p, strcspn(names.p, "\n") };
		if (!judge_copied_property(j, original, copy, name, &hidden))
			return false;
		if (hidden && !hides) {
			json_out_object(&j->hidden);
			json_out_key(&j->hidden, "node");
			json_out_int(&j->hidden, pg_int(j->rows, j->row, NODE));
			json_out_key(&j->hidden, "names");
			json_out_array(&j->hidden);
			hides = true;
		}
		if (hidden)
			json_out_string(&j->hidden, name.p, name.n);
	}
	if (hides) {
		json_out_array_end(&j->hidden);
		json_out_object_end(&j->hidden);
	}
	return true;
}

/* One node of a copy, in the order of the tree. What may not be read is not copied, nor what is below. */
static enum commit_verdict judge_copied(struct judge *j)
{
	struct bw_str original = pg_text(j->rows, j->row, DETAIL);
	struct bw_str copy;

	copy = bw_str(arena_printf(&j->arena, "%s%s", j->ch.name.p, original.p + j->ch.path.n));
	if (is_below(original, j->unseen) || !sees(j, original, j->type)) {
		if (!is_below(original, j->unseen))
			j->unseen = original;
		buf_printf(&j->c->unseen, "%s%lld", buf_size(&j->c->unseen) > 1 ? "," : "",
		           (long long)pg_int(j->rows, j->row, NODE));
		return VERDICT_FINE;
	}
	j->parent_type = BW_ABSENT;
	if (ask(j, PERMIT_ADD_TYPED_NODE, copy, j->type, BW_ABSENT) != BW_OK ||
	    !judge_copied_properties(j, original, copy))
		return forbidden(j, copy);
	return VERDICT_FINE;
}

/* ---- all ---- */

/* The change in the list that a row is about: those that were left out have no rows. */
static void go_to_change(struct judge *j, unsigned n, unsigned *seen, size_t *at)
{
	while (*seen < n && changes_next(&j->c->list, at, &j->ch)) {
		if (j->c->relax == NULL || j->c->relax[j->number] != RELAX_SKIP)
			++*seen;
		j->number++;
	}
	j->number--;
}

static void read_row(struct judge *j, unsigned row)
{
	j->row = row;
	j->outcome = pg_text(j->rows, row, OUTCOME);
	j->type = pg_text(j->rows, row, NODE_TYPE);
	j->parent_type = pg_text(j->rows, row, PARENT_TYPE);
	j->had = pg_bool(j->rows, row, HAD);
}

static enum commit_verdict judge_row(struct judge *j)
{
	enum commit_verdict v;

	if (came_to(j, "copied"))
		return judge_copied(j);
	if (came_to(j, "displaced"))
		return judge_displaced(j);
	if (j->ch.kind == CHANGE_CREATE && j->type.p == NULL && j->ch.name.n > 0)
		j->type = j->ch.name;
	v = judges[j->ch.kind](j);
	j->c->changed += v == VERDICT_FINE && is_done(j);
	j->c->spread |= came_to(j, "spread");
	return v;
}

static enum commit_verdict judge_rows(struct judge *j)
{
	enum commit_verdict v = VERDICT_FINE, all = VERDICT_FINE;
	unsigned            seen = 0;
	size_t              at = 0;

	for (unsigned row = 1; v != VERDICT_REFUSED && row < pg_rows_count(j->rows); row++) {
		unsigned n = (unsigned)pg_int(j->rows, row, N);

		if (n != seen)
			go_to_change(j, n, &seen, &at);
		read_row(j, row);
		v = judge_row(j);
		if (v == VERDICT_AGAIN || all == VERDICT_FINE)
			all = v;
	}
	return all;
}

enum commit_verdict commit_judge(struct commit *c, const struct pg_rows *facts)
{
	struct acl         *acl = resources_acl(c->owner->r);
	struct judge        j = { .c = c, .rows = facts };
	enum commit_verdict v;

	c->generation = pg_int(facts, 0, NODE);
	if (c->generation > acl_generation(acl))
		return VERDICT_BEHIND;
	c->changed = 0;
	c->spread = false;
	buf_clear(&c->unseen);
	buf_clear(&c->hidden);
	buf_clear(&c->displaced);
	buf_append(&c->unseen, "{", 1);
	json_out_init(&j.hidden, &c->hidden);
	json_out_array(&j.hidden);
	arena_init(&j.arena);
	permit_init(&j.permit, acl, c->who, &j.arena);
	v = judge_rows(&j);
	arena_done(&j.arena);
	json_out_array_end(&j.hidden);
	buf_append(&c->unseen, "}", 2);
	buf_append(&c->hidden, "", 1);
	return v;
}
