/* lex.h - the words of a JCR-SQL2 statement, one at a time. */
#pragma once
#include "query.h"

enum lex_kind {
	LEX_END,
	LEX_WORD,    /* unquoted identifier or keyword */
	LEX_BRACKET, /* [..], without the brackets */
	LEX_STRING,  /* '..', with '' undone */
	LEX_NUMBER,
	LEX_SIGN, /* ( ) , . * = <> < <= > >= */
	LEX_BAD,  /* error is set */
};

struct lex_token {
	enum lex_kind kind;
	size_t        at;   /* position of its first octet */
	struct bw_str text; /* in the arena; of a SIGN too */
};

struct lex {
	struct bw_str       text;
	size_t              at;
	struct arena       *arena;
	struct query_error *error;
};

/* The next token; END again and again at the end. BAD: error tells why. */
struct lex_token lex_next(struct lex *lex);
