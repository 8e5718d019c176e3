/* route.h - the gateway's answer to `ctl route`, for people. */
#pragma once
#include <jansson.h>
#include <stdio.h>

/* answer: of the verb `route` (gateway/whiteboard/route.c). */
void route_print(const json_t *answer, FILE *out);
