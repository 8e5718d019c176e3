/* namespace.c - the prefix of a namespace, for names that come in their expanded form.
 *
 * Not remembered: few names come so, and the gateway asks once in a resolver's life.
 *
 * Owns: questions that wait. Runs in: repo's loop. Fails with: BW_ENOTFOUND, and pg.h's.
 * Tests: tests/conformance/resolver/edit.rows, in a whole instance. */
#include "namespace.h"
#include <base/fatal.h>
#include <base/utf8.h>
#include <stdlib.h>

#define RETRY_S 1u

enum statement {
#define Q_VERSION(name, n_params, n_columns, writes, sql) VERSION_##name,
#include "queries.def"
};

struct namespace_ask {
	struct namespace_asker *asker; /* NULL: gone */
	struct wire_question    q;
	LIST_ENTRY(namespace_ask) with_asker;
};

static void fail(struct namespace_ask *ask, int err)
{
	static const char *const reasons[] = {
		[-BW_ENOTFOUND] = "no such namespace",
		[-BW_EGONE] = "PostgreSQL is away",
		[-BW_EBUSY] = "too many reads are waiting for PostgreSQL",
		[-BW_ETIME] = "PostgreSQL took too long",
		[-BW_EIO] = "PostgreSQL refused a read",
	};

	wire_fail(ask->asker->chan, &ask->q, err, err == BW_EGONE || err == BW_EBUSY ? RETRY_S : 0,
	          reasons[-err]);
}

static void answer(struct namespace_ask *ask, struct bw_str prefix)
{
	Bw__Wire__Namespace m = BW__WIRE__NAMESPACE__INIT;

	m.prefix = (ProtobufCBinaryData){ prefix.n, (uint8_t *)prefix.p };
	wire_answer(ask->asker->chan, &ask->q, 0, 0, &m.base);
}

static void on_rows(void *arg, int err, const struct pg_rows *rows)
{
	struct namespace_ask *ask = arg;

	if (err == BW_OK && pg_rows_count(rows) == 0)
		err = BW_ENOTFOUND;
	if (ask->asker != NULL) {
		LIST_REMOVE(ask, with_asker);
		if (err == BW_OK)
			answer(ask, pg_text(rows, 0, 0));
		else
			fail(ask, err);
	}
	free(ask);
}

void namespace_find(struct resources *r, struct namespace_asker *asker,
                    const struct wire_question *q, struct bw_str uri)
{
	struct namespace_ask *ask = xcalloc(1, sizeof(*ask));
	bool  is_text = uri.n > 0 && memchr(uri.p, '\0', uri.n) == NULL && utf8_ok(uri.p, uri.n);
	char *text = is_text ? xstrndup(uri.p, uri.n) : NULL;
	int   err = BW_ENOTFOUND;

	ask->asker = asker;
	ask->q = *q;
	LIST_INSERT_HEAD(&asker->waiting, ask, with_asker);
	if (text != NULL)
		err = resources_ask_versions(r, VERSION_NAMESPACE, &(struct pg_param){ text },
		                             on_rows, ask);
	if (err != BW_OK)
		on_rows(ask, err, NULL);
	free(text);
}

void namespace_asker_init(struct namespace_asker *a, struct wire_chan *chan)
{
	a->chan = chan;
	LIST_INIT(&a->waiting);
}

void namespace_asker_gone(struct namespace_asker *a)
{
	struct namespace_ask *ask;

	while ((ask = LIST_FIRST(&a->waiting)) != NULL) {
		LIST_REMOVE(ask, with_asker);
		ask->asker = NULL;
	}
}
