/* The server's own table of media types (IANA's names), for files whose context helper knows none.
 *
 * Runs in: anywhere, keeps nothing. Tests: tests/unit/whiteboard/helper_test.c. */
#include "helper.h"

#include <stdlib.h>
#include <strings.h>

/* By extension, ascending: it is searched by halves. */
static const struct {
	const char *extension, *type;
} types[] = {
	{ "7z", "application/x-7z-compressed" },
	{ "aac", "audio/aac" },
	{ "apng", "image/apng" },
	{ "atom", "application/atom+xml" },
	{ "avif", "image/avif" },
	{ "bmp", "image/bmp" },
	{ "bz2", "application/x-bzip2" },
	{ "css", "text/css" },
	{ "csv", "text/csv" },
	{ "doc", "application/msword" },
	{ "docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document" },
	{ "eot", "application/vnd.ms-fontobject" },
	{ "epub", "application/epub+zip" },
	{ "flac", "audio/flac" },
	{ "gif", "image/gif" },
	{ "gz", "application/gzip" },
	{ "htm", "text/html" },
	{ "html", "text/html" },
	{ "ico", "image/vnd.microsoft.icon" },
	{ "ics", "text/calendar" },
	{ "jar", "application/java-archive" },
	{ "jpeg", "image/jpeg" },
	{ "jpg", "image/jpeg" },
	{ "js", "text/javascript" },
	{ "json", "application/json" },
	{ "jsonld", "application/ld+json" },
	{ "m4a", "audio/mp4" },
	{ "map", "application/json" },
	{ "md", "text/markdown" },
	{ "mid", "audio/midi" },
	{ "mjs", "text/javascript" },
	{ "mov", "video/quicktime" },
	{ "mp3", "audio/mpeg" },
	{ "mp4", "video/mp4" },
	{ "mpeg", "video/mpeg" },
	{ "odp", "application/vnd.oasis.opendocument.presentation" },
	{ "ods", "application/vnd.oasis.opendocument.spreadsheet" },
	{ "odt", "application/vnd.oasis.opendocument.text" },
	{ "oga", "audio/ogg" },
	{ "ogg", "audio/ogg" },
	{ "ogv", "video/ogg" },
	{ "otf", "font/otf" },
	{ "pdf", "application/pdf" },
	{ "png", "image/png" },
	{ "ppt", "application/vnd.ms-powerpoint" },
	{ "pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation" },
	{ "ps", "application/postscript" },
	{ "rss", "application/rss+xml" },
	{ "rtf", "application/rtf" },
	{ "svg", "image/svg+xml" },
	{ "tar", "application/x-tar" },
	{ "tif", "image/tiff" },
	{ "tiff", "image/tiff" },
	{ "ttf", "font/ttf" },
	{ "txt", "text/plain" },
	{ "vtt", "text/vtt" },
	{ "wasm", "application/wasm" },
	{ "wav", "audio/wav" },
	{ "webm", "video/webm" },
	{ "webmanifest", "application/manifest+json" },
	{ "webp", "image/webp" },
	{ "woff", "font/woff" },
	{ "woff2", "font/woff2" },
	{ "xhtml", "application/xhtml+xml" },
	{ "xls", "application/vnd.ms-excel" },
	{ "xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet" },
	{ "xml", "application/xml" },
	{ "xsl", "application/xslt+xml" },
	{ "yaml", "application/yaml" },
	{ "yml", "application/yaml" },
	{ "zip", "application/zip" },
};

/* As strcasecmp of the extension and the octets of s. */
static int compare(const char *extension, struct bw_str s)
{
	int order = strncasecmp(extension, s.p, s.n);

	return order != 0 ? order : extension[s.n] != '\0';
}

struct bw_str mime_of(struct bw_str name)
{
	const char   *dot = memrchr(name.p, '.', name.n);
	size_t        from = 0, to = sizeof(types) / sizeof(*types);
	struct bw_str extension;

	if (!dot)
		return BW_ABSENT;
	extension = (struct bw_str){ dot + 1, (size_t)(name.p + name.n - dot) - 1 };
	if (extension.n == 0 || strnlen(extension.p, extension.n) != extension.n)
		return BW_ABSENT;
	while (from < to) {
		size_t middle = from + (to - from) / 2;
		int    order = compare(types[middle].extension, extension);

		if (order == 0)
			return bw_str(types[middle].type);
		if (order < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return BW_ABSENT;
}
