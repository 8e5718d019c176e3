/* edge_main.c - edge HOST PORT FILE [PATH]: the rows of FILE against a running server. */
#include "edge.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	struct edge_result r;

	if (argc < 4 || argc > 5) {
		fputs("usage: edge ADDRESS PORT FILE [PATH]\n", stderr);
		return 2;
	}
	r = edge_run(argv[1], (uint16_t)atoi(argv[2]), argv[3], argc > 4 ? argv[4] : "/");
	printf("edge: %u runs, %u failed\n", r.rows, r.failed);
	return r.failed == 0 && r.rows > 0 ? 0 : 1;
}
