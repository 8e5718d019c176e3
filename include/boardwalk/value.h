/* value.h - plain data: the types of the repository's properties, and the values that attributes of
 * a context hold. Values are copied in and out and never point into a bundle, so that they outlive
 * whoever set them. */
#pragma once
#include <boardwalk/types.h>

enum bw_value_type {
	BW_VALUE_STRING = 1,
	BW_VALUE_LONG,
	BW_VALUE_DOUBLE,
	BW_VALUE_DECIMAL,
	BW_VALUE_DATE,
	BW_VALUE_BOOLEAN,
	BW_VALUE_NAME,
	BW_VALUE_PATH,
	BW_VALUE_REFERENCE,
	BW_VALUE_WEAKREFERENCE,
	BW_VALUE_URI,
	BW_VALUE_BINARY /* blob.h; as text: what identifies the octets, and their number */
};

/* One value, or a list of values of one type. Type 0: absent. STRING, LONG, DOUBLE and BOOLEAN are what
 * an attribute can be; a property (edit.h) is of any type, and the others hold their text: a DATE
 * "2026-11-30T22:52:48.000+01:00", a DECIMAL "0.10". */
struct bw_value {
	enum bw_value_type type;
	bool               is_list;
	size_t             n; /* items of a list; not looked at otherwise */
	union {
		struct bw_str        string; /* any octets; never an absent one */
		int64_t              i64;
		double               f64;
		bool                 b;
		const struct bw_str *strings;
		const int64_t       *i64s;
		const double        *f64s;
		const bool          *bools;
	} u;
};

#define BW_V_STRING(value)  ((struct bw_value){ .type = BW_VALUE_STRING, .u.string = (value) })
#define BW_V_LONG(value)    ((struct bw_value){ .type = BW_VALUE_LONG, .u.i64 = (value) })
#define BW_V_DOUBLE(value)  ((struct bw_value){ .type = BW_VALUE_DOUBLE, .u.f64 = (value) })
#define BW_V_BOOLEAN(value) ((struct bw_value){ .type = BW_VALUE_BOOLEAN, .u.b = (value) })
/* A property's value of one of the other types: BW_V_TEXT(BW_VALUE_DATE, text). */
#define BW_V_TEXT(kind, value) ((struct bw_value){ .type = (kind), .u.string = (value) })
#define BW_V_STRINGS(items, count) \
	((struct bw_value){ \
		.type = BW_VALUE_STRING, .is_list = true, .n = (count), .u.strings = (items) })
