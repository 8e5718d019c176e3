/* settings.h - auth's section of the configuration file. */
#pragma once
#include <base/conf.h>

struct auth_settings {
	char            *user, *socket, *gateway_user, *database, *key_file, *log_level;
	char            *session_key_file;
	uint64_t         session_idle, session_life;
	uint64_t         hash_threads, hash_queue, argon2_ops, argon2_mem, remember_seconds;
	uint64_t         throttle_failures, throttle_address_failures, throttle_window_seconds;
	uint64_t         throttle_delay_seconds, throttle_max_delay_seconds;
	char            *service_users_folder, *service_user_default;
	bool             service_user_default_mapping, self_registration;
	struct conf_list issuers, service_users, service_places, required_validators, impersonators;
};

/* As conf_load: -1 with a reason in err; *ret is to be freed by auth_settings_done in any case. */
int  auth_settings_load(const char *file, struct auth_settings *ret, char *err, size_t err_size);
void auth_settings_done(struct auth_settings *s);
void auth_settings_print(FILE *out);
