-- 0022_query_index.sql - an index that finds the nodes with a value.
--
-- Locks and time: repo.content is locked against writers while the index is made: about a minute for a
-- million nodes. Undo: DROP INDEX repo.content_values; DROP FUNCTION repo.query_index, repo.query_equals.
--
-- One index for all properties, since anybody may invent one. It holds a hash of each name, type tag and
-- value (jsonb_path_ops), so it is asked for what is equal and for nothing else, and what it finds is
-- looked at again by the condition itself. Figures: docs/decisions/0022-values.md.

-- Properties as they are indexed: of a Double or a Decimal, which are stored as text and may be written in
-- several ways, the number, {"n": 5}. Almost all nodes have dates, and what equals a date is asked for
-- hardly ever: they are left as they are, and a literal that is one is not looked for here. COST: where the
-- index is of no use, the condition itself comes first.
CREATE FUNCTION repo.query_index(properties jsonb) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE COST 1000 AS $$
BEGIN
	IF NOT properties @? '$.* ? (exists (@.d) || exists (@.dec))' THEN
		RETURN properties;
	END IF;
	RETURN properties || (SELECT jsonb_object_agg(p.key, jsonb_build_object('n',
			(SELECT jsonb_agg(repo.query_numeric(v #>> '{}')) FROM jsonb_path_query(p.value, '$.*[*]') v)))
		FROM jsonb_each(properties) p WHERE p.value ?| '{d,dec}');
END $$;

-- What an indexed form of properties has (@?) if a value of that property equals one of the literals. It
-- may have it without that: a String 5 and a Long 5 are told apart by the condition. All have it ($) if a
-- literal is a date.
CREATE FUNCTION repo.query_equals(property text, literals text[]) RETURNS jsonpath
LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE WHEN EXISTS (SELECT FROM unnest(literals) l WHERE repo.query_instant(l) IS NOT NULL)
		THEN '$'::jsonpath
		ELSE format('$.%s ? (%s)', to_jsonb(property), (
			SELECT string_agg(format('@."%s" == %s', tag, one), ' || ')
			FROM unnest(literals) l,
				LATERAL (SELECT t, to_jsonb(l) FROM unnest('{s,name,path,ref,weak,uri,bin}'::text[]) t
					UNION ALL SELECT t, to_jsonb(repo.query_numeric(l)) FROM unnest('{l,n}'::text[]) t
					UNION ALL SELECT 'b', to_jsonb(l = 'true') WHERE l IN ('true', 'false')) x (tag, one)
			WHERE one IS NOT NULL))::jsonpath END;
$$;

REVOKE ALL ON FUNCTION repo.query_index(jsonb), repo.query_equals(text, text[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION repo.query_index(jsonb), repo.query_equals(text, text[]) TO boardwalk_repo;

CREATE INDEX content_values ON repo.content USING gin (repo.query_index(properties) jsonb_path_ops);
ANALYZE repo.content;
