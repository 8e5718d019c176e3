/* events.h - listeners of resource changes, told what repo tells this worker.
 *
 *    registry --> listeners.c: what each one wants --union--> subscription.c --EVENT_SUBSCRIBE--> repo
 *                     ^                                          |
 *                     `---- deliver.c: one fiber a listener <----'--EVENT_WATCH, EVENTS--> repo
 */
#pragma once

struct gateway_settings;
struct registry;

/* After ask_init; follows r. settings: borrowed. */
void events_init(struct registry *r, const struct gateway_settings *settings);
/* After the bundles have stopped, before ask_done. */
void events_done(void);
