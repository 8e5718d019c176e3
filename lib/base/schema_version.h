/* schema_version.h - the number of the newest file in migrations/. auth and repo serve only a
 * database that stands at exactly this version: an older one is waited for, a newer one refused. */
#pragma once

#define SCHEMA_VERSION 23
