-- 0011_search.sql - what queries and the full-text search need.
--
-- Locks and time: repo.tree and repo.content are locked while the index and the trigger are made and
-- the text of what is there is collected: some 20 s for a million nodes. Undo: DROP TABLE repo.search,
-- repo.search_setting; DROP INDEX repo.tree_type; DROP TRIGGER on repo.content; DROP
-- FUNCTION repo.search_*, repo.query_*.
--
-- The text follows the content within the transaction that writes it: what is committed is found. The
-- functions named query_ and search_ below that repo's role may execute see nothing but what they are
-- given.

-- The effective type of a resource: "all resources of type X or below" is an ANY over this.
CREATE INDEX tree_type ON repo.tree ((coalesce(resource_type, primary_type)));

-- Nodes that have text. language: what its words are cut down by; two letters, or none.
CREATE TABLE repo.search (
	id       bigint PRIMARY KEY REFERENCES repo.tree ON DELETE CASCADE,
	language text COLLATE "C",
	vector   tsvector NOT NULL
);
CREATE INDEX search_vector ON repo.search USING gin (vector);

-- What cursors are signed with, the same for all nodes: 244 random bits.
CREATE TABLE repo.search_setting (
	one boolean PRIMARY KEY DEFAULT true CHECK (one),
	key text NOT NULL DEFAULT gen_random_uuid()::text || gen_random_uuid()::text
);
INSERT INTO repo.search_setting DEFAULT VALUES;

GRANT SELECT ON repo.search, repo.search_setting TO boardwalk_repo;

-- ---- text ----

-- English where nobody has said another language; no stemming for one that PostgreSQL does not know.
CREATE FUNCTION repo.search_config(language text) RETURNS regconfig LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE coalesce(language, 'en')
	WHEN 'ar' THEN 'pg_catalog.arabic'::regconfig WHEN 'da' THEN 'pg_catalog.danish'
	WHEN 'de' THEN 'pg_catalog.german' WHEN 'el' THEN 'pg_catalog.greek'
	WHEN 'en' THEN 'pg_catalog.english' WHEN 'es' THEN 'pg_catalog.spanish'
	WHEN 'fi' THEN 'pg_catalog.finnish' WHEN 'fr' THEN 'pg_catalog.french'
	WHEN 'hu' THEN 'pg_catalog.hungarian' WHEN 'id' THEN 'pg_catalog.indonesian'
	WHEN 'it' THEN 'pg_catalog.italian' WHEN 'nl' THEN 'pg_catalog.dutch'
	WHEN 'no' THEN 'pg_catalog.norwegian' WHEN 'nb' THEN 'pg_catalog.norwegian'
	WHEN 'pt' THEN 'pg_catalog.portuguese' WHEN 'ro' THEN 'pg_catalog.romanian'
	WHEN 'ru' THEN 'pg_catalog.russian' WHEN 'sv' THEN 'pg_catalog.swedish'
	WHEN 'tr' THEN 'pg_catalog.turkish' ELSE 'pg_catalog.simple' END;
$$;

-- jcr:language is a tag of RFC 5646: its first part.
CREATE FUNCTION repo.search_language(properties jsonb) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT nullif(left(lower(split_part(translate(
		properties -> 'jcr:language' ->> 's', '_', '-'), '-', 1)), 8), '');
$$;

-- Which properties are text, and how much a word in them weighs; NULL: not searched.
CREATE FUNCTION repo.search_weight(name text) RETURNS "char" LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE
	WHEN name IN ('jcr:title', 'title') THEN 'A'::"char"
	WHEN name IN ('jcr:description', 'description') THEN 'B'
	WHEN name IN ('text', 'jcr:text', 'body') THEN 'C'
	WHEN name IN ('jcr:uuid', 'jcr:createdBy', 'jcr:lastModifiedBy', 'jcr:language', 'jcr:mimeType',
		'jcr:encoding', 'sling:resourceType', 'sling:resourceSuperType') THEN NULL
	ELSE 'D' END;
$$;

-- What a node's text is made of. Much cheaper than the text: it tells whether that has changed.
CREATE FUNCTION repo.search_source(properties jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
	SELECT jsonb_object_agg(key, value) FROM jsonb_each(properties)
	WHERE value ? 's' AND (repo.search_weight(key) IS NOT NULL OR key = 'jcr:language');
$$;

-- All values of one property as text.
CREATE FUNCTION repo.search_text(value jsonb) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT string_agg(v #>> '{}', ' ') FROM jsonb_path_query(value, '$.*[*]') v;
$$;

-- The words of a node's Strings. A text is indexed by its first 100,000 characters, far below what a
-- tsvector can hold. Between two properties, and two values of one, stands a word that is taken out
-- again: it keeps a phrase from reaching across. translate: what to_tsvector reads as markup or file
-- names are words here.
CREATE FUNCTION repo.search_vector(properties jsonb, language text) RETURNS tsvector
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
	gap    CONSTANT text := ' bwgapwg ';
	config CONSTANT regconfig := repo.search_config(language);
	result tsvector := '';
	weight "char";
	txt    text;
	n      integer := 0;
BEGIN
	FOR weight, txt IN
		SELECT w, string_agg(t, gap ORDER BY key COLLATE "C", o)
		FROM (SELECT repo.search_weight(key) AS w, key, o, t
			FROM jsonb_each(properties) p, jsonb_path_query(p.value, '$.s[*]') WITH ORDINALITY v(j, o),
				LATERAL (SELECT v.j #>> '{}') l(t)) all_texts
		WHERE w IS NOT NULL AND t <> '' GROUP BY w ORDER BY w
	LOOP
		txt := left(txt, 100000 - n);
		n := n + length(txt);
		result := result || setweight(to_tsvector(config, translate(txt || gap, '<>/', '   ')), weight);
		EXIT WHEN n >= 100000;
	END LOOP;
	RETURN ts_delete(result, (tsvector_to_array(to_tsvector(config, gap)))[1]);
END $$;

-- After each change of the properties of a node.
CREATE FUNCTION repo.search_follow() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	source jsonb := repo.search_source(NEW.properties);
	before jsonb;
	lang   text;
	words  tsvector;
BEGIN
	IF TG_OP = 'UPDATE' THEN
		before := repo.search_source(OLD.properties);
	END IF;
	IF source IS NOT DISTINCT FROM before THEN
		RETURN NULL;
	END IF;
	lang := repo.search_language(source);
	words := repo.search_vector(source, lang);
	IF words = '' AND lang IS NULL THEN
		DELETE FROM repo.search s WHERE s.id = NEW.id;
	ELSE
		INSERT INTO repo.search AS s (id, language, vector) VALUES (NEW.id, lang, words)
		ON CONFLICT (id) DO UPDATE SET language = excluded.language, vector = excluded.vector;
	END IF;
	RETURN NULL;
END $$;

INSERT INTO repo.search (id, language, vector)
	SELECT c.id, repo.search_language(c.properties), v
	FROM repo.content c, LATERAL (SELECT repo.search_vector(c.properties,
		repo.search_language(c.properties))) l(v)
	WHERE jsonb_path_exists(c.properties, '$.*.s')
		AND (v <> '' OR repo.search_language(c.properties) IS NOT NULL);

CREATE TRIGGER search_insert AFTER INSERT ON repo.content FOR EACH ROW
	WHEN (NEW.properties <> '{}') EXECUTE FUNCTION repo.search_follow();
CREATE TRIGGER search_update AFTER UPDATE OF properties ON repo.content FOR EACH ROW
	WHEN (NEW.properties IS DISTINCT FROM OLD.properties) EXECUTE FUNCTION repo.search_follow();

-- ---- values ----

-- Milliseconds since 1970 of an ISO 8601 date, with or without a time (then in UTC); NULL if it is none.
-- Never raises: what has the shape of a date is stored, whether there is such a day or not.
CREATE FUNCTION repo.query_instant(txt text) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
	SELECT ((make_date(CASE WHEN m[1]::bigint > 0 THEN m[1]::integer ELSE m[1]::integer - 1 END,
				least(greatest(m[2]::integer, 1), 12), 1) - date '1970-01-01')
			+ m[3]::integer - 1)::bigint * 86400000
		+ coalesce(m[4]::bigint * 3600000 + m[5]::bigint * 60000 + m[6]::bigint * 1000, 0)
		+ coalesce(m[7]::bigint, 0)
		- CASE WHEN m[8] ~ '^[-+]' THEN (left(m[8], 1) || '1')::bigint
			* (substr(m[8], 2, 2)::bigint * 3600000 + substr(m[8], 5, 2)::bigint * 60000) ELSE 0 END
	FROM regexp_match(txt, '^(-?\d{4,6})-(\d\d)-(\d\d)'
		'(?:T(\d\d):(\d\d):(\d\d)(?:\.(\d{3}))?(Z|[-+]\d\d:\d\d)?)?$') m
	WHERE m[1]::bigint BETWEEN -4700 AND 999999;
$$;

-- A stored scalar, or a literal, as a number; NULL if it is none that can be reckoned with.
CREATE FUNCTION repo.query_numeric(txt text) RETURNS numeric LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE WHEN txt ~ '^([-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]{1,3})?|NaN|-?Infinity)$'
		THEN txt::numeric END;
$$;

-- Whether any value, of a Double, a Decimal or a Date, compares so with any literal.
CREATE FUNCTION repo.query_compare(value jsonb, op text, literals text[]) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
	SELECT EXISTS (
		SELECT FROM jsonb_path_query(value, '$.*[*]') v, unnest(literals) l,
			LATERAL (SELECT
				CASE WHEN value ? 'date' THEN repo.query_instant(v #>> '{}')::numeric
					ELSE repo.query_numeric(v #>> '{}') END,
				CASE WHEN value ? 'date' THEN repo.query_instant(l)::numeric
					ELSE repo.query_numeric(l) END) n(a, b)
		WHERE CASE op WHEN '=' THEN a = b WHEN '<>' THEN a <> b WHEN '<' THEN a < b
			WHEN '<=' THEN a <= b WHEN '>' THEN a > b WHEN '>=' THEN a >= b END);
$$;

-- What a property is sorted by: its first value, as a number if it is one or a date, else as text, of
-- which the first 512 characters count: they travel in cursors.
CREATE FUNCTION repo.query_number(value jsonb) RETURNS numeric LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE WHEN value ?| '{l,d,dec}' THEN repo.query_numeric(v #>> '{}')
		WHEN value ? 'date' THEN repo.query_instant(v #>> '{}') END
	FROM jsonb_path_query_first(value, '$.*[0]') v;
$$;

CREATE FUNCTION repo.query_text(value jsonb) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE WHEN NOT value ?| '{l,d,dec,date}'
		THEN left(jsonb_path_query_first(value, '$.*[0]') #>> '{}', 512) END;
$$;

-- The node types that are `type` or below it; NULL: there is no such type.
CREATE FUNCTION repo.query_node_types(type text) RETURNS text[] LANGUAGE sql STABLE AS $$
	SELECT array_agg(t.name) FROM repo.node_type t WHERE query_node_types.type = ANY (t.ancestors);
$$;

-- ---- who may ----

DO $$
DECLARE
	f regprocedure;
BEGIN
	FOR f IN SELECT p.oid FROM pg_proc p WHERE p.pronamespace = 'repo'::regnamespace
			AND (p.proname LIKE 'search\_%' OR p.proname LIKE 'query\_%') LOOP
		EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', f);
		IF f <> 'repo.search_follow()'::regprocedure THEN
			EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO boardwalk_repo', f);
		END IF;
	END LOOP;
END $$;
