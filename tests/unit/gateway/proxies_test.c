/* gateway/proxies.c: which peers are believed, and which of the addresses that they name. */
#include <criterion/criterion.h>
#include <gateway/proxies.c>

static struct proxies *of(const char *a, const char *b)
{
	char            *items[] = { (char *)a, (char *)b };
	struct conf_list list = { items, b != NULL ? 2 : 1 };
	char             err[200];

	return proxies_new(&list, err, sizeof(err));
}

Test(proxies, what_is_no_network_is_refused)
{
	static const char *const bad[] = { "",          "proxy.example", "10.0.0.0/33",
		                           "10.0.0.0/", "10.0.0.0/-1",   "10.0.0.0/8x",
		                           "::1/129",   "10.0.0/8",      "/8",
		                           "10.0.0.1 ", "10.0.0.0/+8",   "UNIX" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_assert_null(of(bad[i], NULL), "%s", bad[i]);
}

Test(proxies, trusted)
{
	static const struct {
		const char *network, *address;
		bool        trusted;
	} rows[] = {
		{ "10.0.0.0/8", "10.255.0.1", true },
		{ "10.0.0.0/8", "11.0.0.1", false },
		{ "10.0.0.128/25", "10.0.0.129", true },
		{ "10.0.0.128/25", "10.0.0.127", false },
		{ "10.0.0.1", "10.0.0.1", true },
		{ "10.0.0.1", "10.0.0.2", false },
		{ "10.0.0.1", "::ffff:10.0.0.1", true },
		{ "0.0.0.0/0", "192.0.2.1", true },
		{ "0.0.0.0/0", "2001:db8::1", false },
		{ "::/0", "2001:db8::1", true },
		{ "fd00::/8", "fd12::1", true },
		{ "fd00::/8", "fe12::1", false },
		{ "2001:db8::/63", "2001:db8:0:1::9", true },
		{ "2001:db8::/63", "2001:db8:0:2::9", false },
		{ "unix", "unix", true },
		{ "unix", "127.0.0.1", false },
		{ "10.0.0.0/8", "unix", false },
		{ "10.0.0.0/8", "", false },
		{ "10.0.0.0/8", "10.0.0", false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct proxies *p = of(rows[i].network, NULL);

		cr_assert_not_null(p);
		cr_expect_eq(proxies_trust(p, bw_str(rows[i].address)), rows[i].trusted, "row %zu",
		             i);
		proxies_free(p);
	}
	cr_assert_not(proxies_trust(NULL, BW_STR("unix")));
}

Test(proxies, client)
{
	static const struct {
		const char *forwarded, *client; /* "": none */
		bool        all;
	} rows[] = {
		{ "192.0.2.7", "192.0.2.7", false },
		{ "203.0.113.9,192.0.2.7", "192.0.2.7", false },
		{ "203.0.113.9, 192.0.2.7\t, 10.0.0.3, fd00::1", "192.0.2.7", false },
		{ "10.0.0.3", "", true },
		{ "", "", true },
		{ "192.0.2.7,", "", false },
		{ ",", "", false },
		{ "192.0.2.7, unknown", "", false },
		{ "192.0.2.7, 10.0.0.3:80", "", false },
		{ "192.0.2.7:1234", "", false },
		{ "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "",
		  false },
	};
	struct proxies *p = of("10.0.0.0/8", "fd00::/8");

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool          all;
		struct bw_str c = proxies_client(p, bw_str(rows[i].forwarded), &all);

		cr_expect(*rows[i].client != '\0' ? bw_str_eq(c, bw_str(rows[i].client))
		                                  : c.p == NULL,
		          "row %zu: %.*s", i, (int)c.n, c.p);
		cr_expect_eq(all, rows[i].all, "row %zu", i);
	}
	proxies_free(p);
}

Test(proxies, scheme_and_host)
{
	cr_assert(bw_str_eq(proxies_scheme(BW_STR("http, HTTPS ")), BW_STR("https")));
	cr_assert(bw_str_eq(proxies_scheme(BW_STR("https,http")), BW_STR("http")));
	cr_assert_null(proxies_scheme(BW_STR("https,")).p);
	cr_assert_null(proxies_scheme(BW_STR("ftp")).p);
	cr_assert(
		bw_str_eq(proxies_host(BW_STR("a, www.example:8443")), BW_STR("www.example:8443")));
	cr_assert(bw_str_eq(proxies_host(BW_STR("[2001:db8::1]:80")), BW_STR("[2001:db8::1]:80")));
	cr_assert_null(proxies_host(BW_STR("")).p);
	cr_assert_null(proxies_host(BW_STR("a b")).p);
	cr_assert_null(proxies_host(BW_STR("user@host")).p);
	cr_assert_null(proxies_host(BW_STR("host/path")).p);
}
