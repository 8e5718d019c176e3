/* console.h - the pages under /system/console of the management listener, for administrators. */
#pragma once

/* After management_init. */
void console_init(void);
