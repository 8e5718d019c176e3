/* steps_access.c - see steps_access.h and steps.h. */
#include "steps_access.h"
#include <stdarg.h>
#include <stdio.h>

#define MAX_NAMES  64
#define MAX_LIMITS 8

struct out {
	char  *text;
	size_t n, size;
};

__attribute__((format(printf, 2, 3))) static void put(struct out *o, const char *format, ...)
{
	va_list args;
	int     n;

	va_start(args, format);
	n = vsnprintf(o->text + o->n, o->size - o->n, format, args);
	va_end(args);
	o->n += n < 0 ? 0 : (size_t)n < o->size - o->n ? (size_t)n : o->size - o->n - 1;
}

/* a,b into names. */
static size_t split(char *text, struct bw_str *names)
{
	size_t n = 0;

	for (char *one; n < MAX_NAMES && (one = strsep(&text, ",")) != NULL;)
		names[n++] = bw_str(one);
	return n;
}

static void put_names(struct out *o, const struct bw_str *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		put(o, "%s%s", i > 0 ? "," : "", names[i].p);
}

static int entries(struct bw_resolver *r, struct bw_str path, struct out *o)
{
	const struct bw_entry *list;
	size_t                 n;
	int                    err = bw_resolver_entries(r, path, &list, &n);

	if (err != BW_OK)
		return err;
	for (size_t i = 0; i < n; i++) {
		put(o, "%s%c%s ", i > 0 ? " " : "", list[i].allow ? '+' : '-', list[i].principal.p);
		put_names(o, list[i].privileges, list[i].n_privileges);
		for (size_t k = 0; k < list[i].n_restrictions; k++) {
			put(o, " %s=[", list[i].restrictions[k].name.p);
			put_names(o, list[i].restrictions[k].values,
			          list[i].restrictions[k].n_values);
			put(o, "]");
		}
	}
	if (n == 0)
		put(o, "-");
	return BW_OK;
}

/* PATH WHO privilege,.. [NAME=VALUE | NAME=[VALUE,..]].. */
static int change(struct bw_resolver *r, struct bw_str path, char **w, size_t n, bool allow,
                  bool add)
{
	static struct bw_str  names[MAX_NAMES], values[MAX_LIMITS][MAX_NAMES];
	struct bw_restriction limits[MAX_LIMITS];
	struct bw_entry       entry = {
		      .principal = bw_str(w[2]),
		      .allow = allow,
		      .privileges = names,
		      .n_privileges = split(w[3], names),
		      .restrictions = limits,
	};

	for (size_t i = 4; i < n && entry.n_restrictions < MAX_LIMITS; i++) {
		struct bw_restriction *limit = &limits[entry.n_restrictions];
		char                  *value = w[i];

		limit->name = bw_str(strsep(&value, "="));
		limit->values = values[entry.n_restrictions++];
		value += *value == '[';
		value[strcspn(value, "]")] = '\0';
		limit->n_values = *value ? split(value, values[entry.n_restrictions - 1]) : 0;
	}
	return add ? bw_resolver_add_entry(r, path, &entry)
	           : bw_resolver_remove_entry(r, path, &entry);
}

static int may(struct bw_resolver *r, struct bw_str path, char *privileges, struct out *o)
{
	struct bw_str names[MAX_NAMES];
	bool          has = false;
	int err = bw_resolver_has_privileges(r, path, names, split(privileges, names), &has);

	if (err == BW_OK)
		put(o, "%s", has ? "yes" : "no");
	return err;
}

static int granted(struct bw_resolver *r, struct bw_str path, struct out *o)
{
	const struct bw_str *names;
	size_t               n;
	int                  err = bw_resolver_privileges(r, path, &names, &n);

	if (err == BW_OK)
		put_names(o, names, n);
	return err;
}

int steps_access(struct bw_resolver *r, struct bw_str path, char **w, size_t n, char *said,
                 size_t size, bool *ret_known)
{
	static const struct {
		const char *word;
		bool        allow, add;
	} changes[] = {
		{ "allow", true, true },
		{ "deny", false, true },
		{ "unallow", true, false },
		{ "undeny", false, false },
	};
	struct out o = { said, 0, size };

	*said = '\0';
	*ret_known = true;
	for (size_t i = 0; n > 3 && i < sizeof(changes) / sizeof(changes[0]); i++)
		if (strcmp(w[0], changes[i].word) == 0)
			return change(r, path, w, n, changes[i].allow, changes[i].add);
	if (strcmp(w[0], "entries") == 0)
		return entries(r, path, &o);
	if (strcmp(w[0], "may") == 0 && n > 2)
		return may(r, path, w[2], &o);
	if (strcmp(w[0], "granted") == 0)
		return granted(r, path, &o);
	if (strcmp(w[0], "clear") == 0)
		return bw_resolver_clear_entries(r, path, n > 2 ? bw_str(w[2]) : BW_ABSENT);
	*ret_known = false;
	return BW_OK;
}
