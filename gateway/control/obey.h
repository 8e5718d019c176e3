/* obey.h - a worker does what its parent orders. */
#pragma once

/* Takes the channel's descriptor. */
void obey_init(int fd);
void obey_done(void);
