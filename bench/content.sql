-- content.sql - fills the repository for the benchmark: 100 or more resources below /content/scale, which
-- is there with its folders `flat` and `deep` (bench/repo has repoinit make them).
--
--   psql -X -v n=1000000 -f bench/content.sql
--
-- n, a multiple of 100: half of them in five folders of n/10 children each, half in 50 subtrees of n/100
-- nodes each, ten children to a node. Ids are arithmetic, and so is all that is drawn: the same n gives the
-- same content. The rows go into the real tables, with their constraints and triggers; the one index
-- that is much cheaper to build than to fill is built anew. Journal: none, as after an hour; whoever
-- runs meanwhile does not learn of it.
\set ON_ERROR_STOP on
\set QUIET on
SET client_min_messages = warning;
SET maintenance_work_mem = '512MB';
SET work_mem = '64MB';
BEGIN;
SELECT repo.structure_lock(true) \g /dev/null

-- ---- what is drawn from ----

-- Evenly from 0 to below - 1, by number and purpose.
CREATE FUNCTION pg_temp.drawn(id bigint, purpose integer, below bigint) RETURNS integer
LANGUAGE sql IMMUTABLE AS $$ SELECT ((hashint8extended(id, purpose) & 2147483647) % below)::integer $$;

-- 4,096 words, the first ones far more frequent than the last.
CREATE TEMP TABLE word AS
	SELECT i, s[1 + i % 16] || s[1 + i / 16 % 16] || s[1 + i / 256] || CASE WHEN i % 3 = 0 THEN 'n' ELSE '' END AS txt
	FROM generate_series(0, 4095) i,
		(SELECT '{ba,ke,lo,mi,nu,ra,se,to,vi,wu,da,fe,go,hi,ju,pa}'::text[]) syllables (s);
CREATE UNIQUE INDEX ON word (i);

-- 4,096 texts of 3 to 210 words, most of them short, each with a word of its own in it: wordNNNN.
CREATE TEMP TABLE txt AS
	SELECT t AS i, 'word' || t || ' ' || string_agg(w.txt, ' ' ORDER BY k) AS body,
		string_agg(w.txt, ' ' ORDER BY k DESC) FILTER (WHERE k <= 3) AS title
	FROM generate_series(0, 4095) t
	CROSS JOIN LATERAL generate_series(1, 2 + (208 * (pg_temp.drawn(t, 1, 1000) / 1000.0) ^ 4)::integer) k
	JOIN word w ON w.i = (4096 * (pg_temp.drawn(t * 1000 + k, 2, 100000) / 100000.0) ^ 4)::integer
	GROUP BY t;
CREATE UNIQUE INDEX ON txt (i);
ANALYZE word, txt;

-- One of the subtrees, to be made 50 times.
CREATE TEMP TABLE node AS
	WITH RECURSIVE below (k, up, name, path) AS (
		SELECT 0::bigint, NULL::bigint, ''::text, ''::text
		UNION ALL
		SELECT c, b.k, 'n' || lpad(c::text, 6, '0'), b.path || '/n' || lpad(c::text, 6, '0')
		FROM below b, generate_series(10 * b.k + 1, least(10 * b.k + 10, :n / 100 - 1)) c
	)
	SELECT * FROM below;

CREATE TEMP TABLE kind AS SELECT '{page,page,page,page,article,article,product,image,note,event}'::text[] AS names;

SELECT max(id) + 1 AS base FROM repo.tree \gset
SELECT pg_get_indexdef('repo.search_vector'::regclass) AS search_vector \gset
DROP INDEX repo.search_vector;

-- ---- rows ----

INSERT INTO repo.tree (id, parent, name, path, position, primary_type)
	OVERRIDING SYSTEM VALUE
	SELECT :base + f, p.id, 'f' || f, p.path || '/f' || f, (f + 1) * 1048576::bigint, 'sling:Folder'
	FROM repo.tree p, generate_series(0, 4) f WHERE p.path = '/content/scale/flat';

INSERT INTO repo.tree (id, parent, name, path, position, primary_type, resource_type)
	OVERRIDING SYSTEM VALUE
	SELECT i.id, p.id, i.name, p.path || '/' || i.name, (j + 1) * 1048576::bigint, 'nt:unstructured',
		'scale/' || names[1 + pg_temp.drawn(i.id, 3, 10)]
	FROM kind, repo.tree p, generate_series(0, :n / 10 - 1) j,
		LATERAL (SELECT :base + 5 + (p.id - :base) * (:n / 10) + j, 'i' || lpad(j::text, 6, '0')) i (id, name)
	WHERE p.id BETWEEN :base AND :base + 4;

INSERT INTO repo.tree (id, parent, name, path, position, primary_type, resource_type)
	OVERRIDING SYSTEM VALUE
	SELECT root + k, coalesce(root + up, p.id), coalesce(nullif(node.name, ''), 't' || t),
		p.path || '/t' || t || node.path, (CASE WHEN up IS NULL THEN t + 1 ELSE (k - 1) % 10 + 1 END) * 1048576::bigint,
		'nt:unstructured', 'scale/' || names[1 + pg_temp.drawn(root + k, 3, 10)]
	FROM kind, repo.tree p, generate_series(0, 49) t, node,
		LATERAL (SELECT :base + 5 + :n / 2 + t * (:n / 100)) r (root)
	WHERE p.path = '/content/scale/deep';

-- 250 to 1,700 octets of properties.
INSERT INTO repo.content (id, properties)
	SELECT t.id, jsonb_build_object(
		'jcr:title', jsonb_build_object('s', txt.title || ' ' || t.id - :base),
		'jcr:description', jsonb_build_object('s', txt.body),
		'number', jsonb_build_object('l', t.id - :base),
		'category', jsonb_build_object('s', 'c' || pg_temp.drawn(t.id, 4, 1000)),
		'tags', jsonb_build_object('s', jsonb_build_array('t' || pg_temp.drawn(t.id, 5, 50), 't' || pg_temp.drawn(t.id, 6, 50))),
		'published', jsonb_build_object('date', to_char(timestamp '2020-01-01' + interval '1 minute' * pg_temp.drawn(t.id, 7, 3000000),
			'YYYY-MM-DD"T"HH24:MI:SS".000Z"')),
		'approved', jsonb_build_object('b', pg_temp.drawn(t.id, 8, 4) > 0))
		|| CASE WHEN t.resource_type IS NULL THEN '{}'
			ELSE jsonb_build_object('sling:resourceType', jsonb_build_object('s', t.resource_type)) END
	FROM repo.tree t JOIN txt ON txt.i = pg_temp.drawn(t.id, 9, 4096)
	WHERE t.id >= :base;

:search_vector;
SELECT setval(pg_get_serial_sequence('repo.tree', 'id'), max(id)) FROM repo.tree \g /dev/null
COMMIT;
VACUUM ANALYZE;

-- ---- what has to hold ----

CREATE FUNCTION pg_temp.must(holds boolean, what text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	IF holds IS NOT TRUE THEN
		RAISE EXCEPTION 'not so: %', what;
	END IF;
END $$;

SELECT pg_temp.must(count(*) = 0, 'each path is the path of the parent and the name')
	FROM repo.tree t LEFT JOIN repo.tree p ON p.id = t.parent
	WHERE t.path <> CASE WHEN p.id IS NULL THEN '/' ELSE rtrim(p.path, '/') || '/' || t.name END \g /dev/null
SELECT pg_temp.must(count(*) = :n + 5 AND count(s.id) = :n + 5, 'all have content, and text')
	FROM repo.tree t JOIN repo.content c ON c.id = t.id LEFT JOIN repo.search s ON s.id = t.id
	WHERE t.id >= :base \g /dev/null
-- The rules of node types, for a thousand of them.
SELECT repo.node_check(ARRAY (SELECT t.id FROM repo.tree t
	WHERE t.id >= :base AND pg_temp.drawn(t.id, 10, greatest(:n / 1000, 1)) = 0)) \g /dev/null
