/* random.h - random histories of a small tree, as steps (steps.h): the same ones for the same seed. Most
 * names are taken or not there, so that many steps are refused and the others meet. */
#pragma once

void random_begin(unsigned seed);
/* 1 to most steps and then end; borrowed until the next call. */
const char *random_steps(unsigned most, const char *end);
