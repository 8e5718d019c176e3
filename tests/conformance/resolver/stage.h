/* stage.h - steps (steps.h) upon the gateway's editing code and a fake repo, without a gateway. */
#pragma once
#include <stddef.h>

/* A fresh repo (fake_repo.h) with the root of the rows, which is below /content, in it. */
void stage_begin(const char *root);
/* One request: runs the steps in text, which is changed. */
void stage_ask(const char *root, char *text, char *said, size_t size);
