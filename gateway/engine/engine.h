/* engine.h - the Sling-like engine: a whiteboard servlet at / of the context org.apache.sling that
 * resolves the path to a resource, picks a servlet by path or by type, and runs it. */
#pragma once

struct registry;
struct gateway_settings;

/* Registers context and servlet, and watches the registry for sling.servlet.* services. After
 * whiteboard_init, so that the context is there. */
void engine_init(struct registry *r, const struct gateway_settings *settings);
void engine_done(void);
