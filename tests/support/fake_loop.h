/* fake_loop.h - gateway/http/loop.h without libh2o, for programs that turn the loop by hand. */
#pragma once

/* One turn: waits for a watched descriptor or the next timer, at most max_ms, and runs what is due. */
void fake_loop_turn(int max_ms);
