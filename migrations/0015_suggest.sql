-- 0015_suggest.sql - the search knows how words of titles begin, and words without their accents.
--
-- Locks and time: repo.search is locked while the text of all nodes is collected anew: some 20 s for a
-- million nodes. Undo: the functions of 0011_search.sql; DROP FUNCTION repo.search_plain,
-- repo.search_prefix; then fill repo.search as 0011_search.sql does.

-- Letters of Latin scripts without what stands above or below them: whoever types "cafe" finds "café". In
-- other scripts such a mark makes another letter.
CREATE FUNCTION repo.search_plain(txt text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE WHEN octet_length(txt) = length(txt) THEN txt
		ELSE normalize(regexp_replace(normalize(txt, NFD), '([A-Za-z])[\u0300-\u036F]+', '\1', 'g'),
			NFC) END;
$$;

-- Words in which the words of a text begin: of those that search_vector keeps of titles, behind an octet
-- that no word of a text has. NULL: there is no word. Lexemes alone become part of the query, quoted.
CREATE FUNCTION repo.search_prefix(txt text) RETURNS tsquery LANGUAGE sql IMMUTABLE AS $$
	SELECT string_agg('''' || E'\x01' || replace(replace(lexeme, '\', '\\'), '''', '''''') || ''':*',
		' & ')::tsquery
	FROM unnest(to_tsvector('pg_catalog.simple', translate(repo.search_plain(txt), '<>/', '   ')))
	WHERE octet_length(lexeme) <= 255;
$$;

-- The words of a title as they are written, without positions: they do not count for the rank.
CREATE FUNCTION repo.search_title(txt text) RETURNS tsvector LANGUAGE sql IMMUTABLE AS $$
	SELECT array_to_tsvector(coalesce(array_agg(E'\x01' || lexeme), '{}'))
	FROM unnest(to_tsvector('pg_catalog.simple', left(txt, 1000)))
	WHERE octet_length(lexeme) <= 255 AND lexeme <> 'bwgapwg';
$$;

-- As in 0011_search.sql, of words without accents, with the words of the title.
CREATE OR REPLACE FUNCTION repo.search_vector(properties jsonb, language text) RETURNS tsvector
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
		txt := repo.search_plain(translate(left(txt, 100000 - n), '<>/', '   '));
		n := n + length(txt);
		result := result || setweight(to_tsvector(config, txt || gap), weight);
		IF weight = 'A' THEN
			result := result || repo.search_title(txt);
		END IF;
		EXIT WHEN n >= 100000;
	END LOOP;
	RETURN ts_delete(result, (tsvector_to_array(to_tsvector(config, gap)))[1]);
END $$;

REVOKE ALL ON FUNCTION repo.search_plain(text), repo.search_prefix(text), repo.search_title(text)
	FROM PUBLIC;
GRANT EXECUTE ON FUNCTION repo.search_plain(text), repo.search_prefix(text), repo.search_title(text)
	TO boardwalk_repo;

TRUNCATE repo.search;
INSERT INTO repo.search (id, language, vector)
	SELECT c.id, repo.search_language(c.properties), v
	FROM repo.content c, LATERAL (SELECT repo.search_vector(c.properties,
		repo.search_language(c.properties))) l(v)
	WHERE jsonb_path_exists(c.properties, '$.*.s')
		AND (v <> '' OR repo.search_language(c.properties) IS NOT NULL);
