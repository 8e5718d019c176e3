/* probe.h - asks a process whether it serves. */
#pragma once
#include "cli.h"

/* Whether /health/ready is 200 on that management listener, "127.0.0.1:8081" or a socket's path. */
bool probe_ready(const char *address);
