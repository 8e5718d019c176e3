/* session_tell.c - the listeners of a session's context are told (OSGi 140.8, Jakarta Servlet
 * 11.3).
 *
 * A session belongs to a context's name, so its listeners are those of whatever context has that
 * name now; none if there is no such context: the session waits for it, or ends unheard.
 * Owns: nothing. Runs in: a request's fiber, or one of session_watch.c. Fails with: nothing.
 * Tests: tests/system/session_test.c. */
#include "session.h"
#include "whiteboard/listener.h"
#include "whiteboard/snapshot.h"

static struct bw_context *context_named(struct bw_str name)
{
	const struct snapshot *all = snapshot_current();

	for (size_t i = 0; all != NULL && i < all->n_contexts; i++)
		if (bw_str_eq(all->contexts[i]->context->reading->name, name))
			return all->contexts[i]->context;
	return NULL;
}

void session_tell_created(struct bw_session *s)
{
	struct bw_context *c = context_named(s->context);

	if (c != NULL)
		listener_session_created(c, s);
}

void session_tell_attribute(struct bw_session *s, struct bw_str name, const struct bw_value *old,
                            const struct bw_value *new)
{
	struct bw_context *c = context_named(s->context);

	if (c != NULL)
		listener_session_attribute(c, s, name.p, old, new);
}

/* Listeners are bundle code, which may take contexts away: each event looks for its own. */
void session_tell_end(struct bw_session *s)
{
	struct bw_context *c = context_named(s->context);

	if (c != NULL)
		listener_session_destroyed(c, s);
	for (struct session_attr *attr = s->attrs; attr != NULL; attr = attr->next)
		session_tell_attribute(s, attr->name, &attr->value, NULL);
	s->state = SESSION_VOID;
}

bool session_hears_id(struct bw_str context)
{
	const struct bw_context *c = context_named(context);

	return c != NULL && listener_hears(c, LISTENS_SESSION_ID);
}

void session_tell_id(struct bw_session *s, struct bw_str old_id)
{
	struct bw_context *c = context_named(s->context);

	if (c != NULL)
		listener_session_id_changed(c, s, old_id);
}
