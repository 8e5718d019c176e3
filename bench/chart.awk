# chart.awk - the CSV of bench/run as an SVG bar chart: for each cell requests per second, one bar a
# tool, the original platform's two figures as dashed lines.
BEGIN {
	FS = ","
	label["wrk-c64"] = "wrk, 64 connections"
	label["ab-k-c5"] = "ab -k, 5 clients"
	label["ab-c5"] = "ab, 5 clients, a connection each"
	colour["wrk-c64"] = "#1f6f8b"
	colour["ab-k-c5"] = "#99c24d"
	colour["ab-c5"] = "#f18f01"
	split("wrk-c64 ab-k-c5 ab-c5", tools, " ")
}
NR > 1 {
	if (!($1 in seen)) {
		seen[$1] = 1
		cell[++n] = $1
	}
	value[$1, $2] = $3
	if ($3 > max)
		max = $3
}
function y(v) { return 60 + height * (1 - v / max) }
END {
	height = 360
	group = 78
	width = 110 + n * group
	for (step = 1000; max / step > 8; )
		step *= (step ~ /^2/ ? 2.5 : 2)
	max = step * int(max / step + 1)
	printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" font-size=\"12\">\n", width, height + 190
	print "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>"
	print "<text x=\"20\" y=\"24\" font-size=\"16\">Boardwalk: requests per second, one worker on one core</text>"
	for (i = 1; i <= 3; i++) {
		printf "<rect x=\"%d\" y=\"36\" width=\"12\" height=\"12\" fill=\"%s\"/>", 20 + (i - 1) * 230, colour[tools[i]]
		printf "<text x=\"%d\" y=\"46\">%s</text>\n", 38 + (i - 1) * 230, label[tools[i]]
	}
	for (v = 0; v <= max; v += step) {
		printf "<line x1=\"80\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#ddd\"/>", width - 20, y(v), y(v)
		printf "<text x=\"74\" y=\"%.1f\" text-anchor=\"end\">%d</text>\n", y(v) + 4, v
	}
	for (i = 1; i <= n; i++) {
		x = 90 + (i - 1) * group
		for (t = 1; t <= 3; t++) {
			v = value[cell[i], tools[t]]
			if (v == "")
				continue
			printf "<rect x=\"%d\" y=\"%.1f\" width=\"20\" height=\"%.1f\" fill=\"%s\"><title>%s, %s: %d/s</title></rect>\n", x + (t - 1) * 22, y(v), y(0) - y(v), colour[tools[t]], cell[i], label[tools[t]], v
		}
		printf "<text transform=\"translate(%d,%d) rotate(40)\">%s</text>\n", x + 20, height + 76, cell[i]
	}
	printf "<line x1=\"80\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#b00\" stroke-dasharray=\"6 4\"/>", width - 20, y(12379), y(12379)
	printf "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\" fill=\"#b00\">JVM, whiteboard servlet: 12,379</text>\n", width - 20, y(12379) - 4
	print "</svg>"
}
