/* match - what finding the servlet of a path costs, and what registering one, among 10, 1,000 and 10,000 servlets.
 *
 * The real snapshot, as whiteboard_serve uses it: services are registered and snapshot_find is called
 * with canonical paths. Servlets have exact, prefix and extension patterns in equal parts; paths have 1
 * to 64 segments; half of the paths hit. All sets ask 1,024 paths of each kind, few enough that
 * their text stays in the cache, as that of a path just parsed is. Prints nanoseconds of processor
 * time for each, medians of several rounds, and the ratio to the smallest set; and what one registration more costs there. */
#include <boardwalk/service.h>
#include <boardwalk/servlet.h>
#include <base/clock.h>
#include <base/fatal.h>
#include <gateway/whiteboard/registry.h>
#include <gateway/whiteboard/snapshot.h>
#include <gateway/whiteboard/whiteboard.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	KINDS = 3,
	PATHS = 1024,
	SIZES = 3,
	ROUNDS = 15,
	TURNS = 80,
	CHANGES = 50,
	MAX_PATH = 1024,
	MAX_SEGMENTS = 64
};

static const unsigned sizes[SIZES] = { 10, 1000, 10000 };

struct set {
	char         *text; /* PATHS paths of MAX_PATH */
	struct bw_str hit[KINDS][PATHS], miss[KINDS][PATHS];
};

/* The same segments for the same servlet, whatever the set; the first is no other servlet's. */
static char *put_segments(char *to, unsigned servlet, unsigned n)
{
	uint32_t h = servlet * 2654435761u + 12345;

	to += sprintf(to, "/%x", servlet);
	for (unsigned i = 1; i < n; i++) {
		h = h * 1664525u + 1013904223u;
		to += sprintf(to, "/%.*s%x", (int)(h >> 8) % 5, "page-", h >> 20);
	}
	return to;
}

/* The deepest prefix is in every set: it bounds how far any path is looked at. */
static unsigned depth_of(unsigned servlet)
{
	return servlet == 1 ? MAX_SEGMENTS : 1 + servlet * 37 % MAX_SEGMENTS;
}

static void put_pattern(char *to, unsigned servlet)
{
	if (servlet % KINDS == 2)
		sprintf(to, "*.e%x", servlet);
	else
		strcpy(put_segments(to, servlet, depth_of(servlet)),
		       servlet % KINDS == 1 ? "/*" : "");
}

/* Path number i for a servlet. What the pattern leaves open depends on i alone, so that the sets differ
 * in it no more than they must. */
static void put_path(char *to, unsigned servlet, unsigned i)
{
	unsigned depth = depth_of(servlet);

	if (servlet % KINDS == 0)
		put_segments(to, servlet, depth);
	else if (servlet % KINDS == 1)
		put_segments(put_segments(to, servlet, depth), i,
		             1 + i % (MAX_SEGMENTS - depth + 1));
	else
		sprintf(put_segments(to, ~i, depth_of(i)), ".e%x", servlet);
}

static void make_paths(struct set *s, unsigned n_servlets)
{
	char *at = s->text = xmalloc((size_t)2 * KINDS * PATHS * MAX_PATH);

	for (unsigned kind = 0; kind < KINDS; kind++) {
		for (unsigned i = 0; i < PATHS; i++) {
			put_path(at, (i * 7919u % (n_servlets / KINDS)) * KINDS + kind, i);
			s->hit[kind][i] = bw_str(at);
			at += strlen(at) + 1;
			/* The same in every set: a servlet that no set has, spoiled at its start. */
			put_path(at, (i + 100000) * KINDS + kind, i);
			at[1] = '!';
			s->miss[kind][i] = bw_str(at);
			at += strlen(at) + 1;
		}
	}
}

static void register_servlets(struct registry *r, unsigned n)
{
	static const struct bw_servlet        type = { .size = sizeof(type) };
	static const struct bw_service_object object = { .type = &type };
	static const char *const              interfaces[] = { BW_SERVLET, NULL };
	char                                  pattern[MAX_PATH];

	for (unsigned i = 0; i < n; i++) {
		struct bw_prop prop = BW_P_STRING(BW_SERVLET_PATTERN, pattern);

		put_pattern(pattern, i);
		registry_register(r, NULL, interfaces, &object, &prop, 1, NULL);
	}
}

/* The snapshot of a whiteboard with so many servlets; it outlives the whiteboard. */
static struct snapshot *make_snapshot(unsigned n_servlets)
{
	struct registry *r = registry_new();
	struct snapshot *s;

	register_servlets(r, n_servlets);
	whiteboard_init(r);
	s = snapshot_ref(snapshot_current());
	whiteboard_done();
	registry_free(r);
	return s;
}

/* Nanoseconds of processor time for one look-up. */
static double measure(const struct snapshot *s, const struct bw_str paths[PATHS], bool hits)
{
	uint64_t start_us = clock_read_us(CLOCK_PROCESS_CPUTIME_ID);
	unsigned found = 0;

	for (int t = 0; t < TURNS; t++) {
		for (int i = 0; i < PATHS; i++) {
			struct snapshot_hit hit;

			found += snapshot_find(s, paths[i], &hit);
		}
	}
	if (found != (hits ? TURNS * PATHS : 0))
		fatalx("%u of %d paths were found", found, TURNS * PATHS);
	return (double)(clock_read_us(CLOCK_PROCESS_CPUTIME_ID) - start_us) * 1000 /
	       (TURNS * PATHS);
}

/* Microseconds of processor time from a registration to the snapshot in which it answers, and back: the
 * mean of both, among so many others. */
static double measure_change(unsigned n_servlets)
{
	static const struct bw_servlet        type = { .size = sizeof(type) };
	static const struct bw_service_object object = { .type = &type };
	static const char *const              interfaces[] = { BW_SERVLET, NULL };
	struct bw_prop                        prop = BW_P_STRING(BW_SERVLET_PATTERN, "/one/more");
	struct registry                      *r = registry_new();
	uint64_t                              start_us;

	register_servlets(r, n_servlets);
	whiteboard_init(r);
	start_us = clock_read_us(CLOCK_PROCESS_CPUTIME_ID);
	for (int i = 0; i < CHANGES; i++) {
		struct bw_service *s;

		registry_register(r, NULL, interfaces, &object, &prop, 1, &s);
		registry_unregister(s);
	}
	start_us = clock_read_us(CLOCK_PROCESS_CPUTIME_ID) - start_us;
	whiteboard_done();
	registry_free(r);
	return (double)start_us / (2 * CHANGES);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

int main(void)
{
	static double    ns[SIZES][2 * KINDS][ROUNDS];
	struct snapshot *snapshots[SIZES];
	struct set       sets[SIZES];
	double           first = 0;

	for (int i = 0; i < SIZES; i++) {
		snapshots[i] = make_snapshot(sizes[i]);
		make_paths(&sets[i], sizes[i]);
	}
	/* In turn, so that what else the machine does meets all sizes alike. */
	for (int r = 0; r < ROUNDS; r++)
		for (int kind = 0; kind < 2 * KINDS; kind++)
			for (int i = 0; i < SIZES; i++)
				ns[i][kind][r] = measure(snapshots[i],
				                         kind < KINDS ? sets[i].hit[kind]
				                                      : sets[i].miss[kind - KINDS],
				                         kind < KINDS);

	printf("%8s %10s %10s %10s %10s %10s %10s %10s %7s %12s\n", "servlets", "exact", "prefix",
	       "extension", "no exact", "no prefix", "no ext.", "mean ns", "ratio", "change us");
	for (int i = 0; i < SIZES; i++) {
		double sum = 0;

		printf("%8u", sizes[i]);
		for (int kind = 0; kind < 2 * KINDS; kind++) {
			qsort(ns[i][kind], ROUNDS, sizeof(double), compare);
			sum += ns[i][kind][ROUNDS / 2];
			printf(" %10.1f", ns[i][kind][ROUNDS / 2]);
		}
		first = first > 0 ? first : sum;
		printf(" %10.1f %7.2f %12.1f\n", sum / (2 * KINDS), sum / first,
		       measure_change(sizes[i]));
		snapshot_unref(snapshots[i]);
		free(sets[i].text);
	}
	return 0;
}
