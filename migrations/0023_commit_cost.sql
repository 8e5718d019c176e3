-- 0023_commit_cost.sql - the same rules at half the price.
--
-- Locks and time: repo.node_type, which is small, is rewritten; functions. A few milliseconds. Undo:
-- name_plain, path_plain, value_plain: drop; search_source as in 0011, search_title as in 0015,
-- properties_of_new and node_create as in 0008, commit_finish and change_create as in 0009, commit_lock as
-- in 0014, node_check as in 0020; ALTER TABLE repo.node_type DROP COLUMN loose, DROP
-- COLUMN holds_all; ALTER TABLE repo.tree ALTER COLUMN parent RESET (n_distinct).
--
-- Nearly all that is written is plain: names of letters and digits, text, numbers, nodes of types that
-- leave everything to whoever writes. What is plain is seen at a glance, in expressions and not in calls
-- and statements; all else is checked by the functions that know the rules, as before. Plain is always
-- less than what the rules allow: tests/unit/repo/sql_test.c compares.

-- A name that repo.name_check finds nothing wrong with. These prefixes cannot be taken away.
CREATE FUNCTION repo.name_plain(name text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
	SELECT name ~ '^((jcr|sling):)?[A-Za-z0-9_-]+$' AND octet_length(name) <= 255;
$$;

-- The same of a path and repo.path_check; of 255 octets in all, so that no name has more.
CREATE FUNCTION repo.path_plain(path text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
	SELECT path ~ '^(/[A-Za-z0-9_-]+)+$' AND octet_length(path) <= 255
		AND octet_length(path) - octet_length(replace(path, '/', '')) <= 64;
$$;

-- A value that repo.value_check finds nothing wrong with.
CREATE FUNCTION repo.value_plain(value jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE
		WHEN jsonb_typeof(value -> 's') = 'string' THEN
			octet_length(value ->> 's') <= 65536 AND value - 's' = '{}'
		WHEN jsonb_typeof(value -> 'l') = 'number' THEN
			value ->> 'l' ~ '^-?[0-9]{1,18}$' AND value - 'l' = '{}'
		WHEN jsonb_typeof(value -> 'b') = 'boolean' THEN value - 'b' = '{}'
		ELSE false END;
$$;

-- As in 0008.
CREATE OR REPLACE FUNCTION repo.properties_of_new(def repo.node_type, mixins text[], given jsonb)
RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
DECLARE
	result jsonb := given - '{jcr:created,jcr:createdBy}'::text[];
	item   record;
BEGIN
	IF result ?| '{jcr:primaryType,jcr:mixinTypes}' THEN
		RAISE EXCEPTION 'jcr:primaryType and jcr:mixinTypes are not set as properties'
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	IF result <> '{}' THEN
		FOR item IN SELECT key, value FROM jsonb_each(result)
				WHERE (repo.name_plain(key) AND repo.value_plain(value)) IS NOT TRUE LOOP
			PERFORM repo.name_check(item.key), repo.value_check(item.value);
		END LOOP;
	END IF;
	IF def.protected <> '{}' THEN
		result := result - def.protected;
	END IF;
	IF def.created <> '{}' THEN
		result := repo.created_properties(def.created) || result;
	END IF;
	IF mixins <> '{}' THEN
		result := result || jsonb_build_object('jcr:mixinTypes',
			jsonb_build_object('name', to_jsonb(mixins)));
	END IF;
	RETURN result;
END $$;

-- As in 0008. The parent's row is locked before its properties are looked at, in a statement of their own,
-- which sees what whoever had the lock before has added.
CREATE OR REPLACE FUNCTION repo.node_create(path text, primary_type text, mixins text[], properties jsonb)
RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
	wanted     CONSTANT text := node_create.path;
	above      CONSTANT text := repo.path_above(wanted);
	child_name CONSTANT text := repo.path_name(wanted);
	type       text := node_create.primary_type;
	parent_id  bigint;
	exists     boolean;
	locked     boolean;
	new_id     bigint;
	def        repo.node_type;
	held       jsonb;
BEGIN
	IF repo.path_plain(wanted) IS NOT TRUE THEN
		PERFORM repo.path_check(wanted);
	END IF;
	IF node_create.mixins <> '{}' THEN
		PERFORM repo.mixin_check(m) FROM unnest(node_create.mixins) m;
	END IF;
	PERFORM repo.structure_lock(false);
	-- The lock that property_set waits for before it adds a property.
	SELECT t.id, EXISTS (SELECT FROM repo.tree o WHERE o.path = wanted),
			EXISTS (SELECT FROM repo.node_type d WHERE d.name = ANY (t.primary_type || t.mixins)
				AND child_name = ANY (d.protected_children) AND NOT d.created_children ? child_name)
		INTO parent_id, exists, locked FROM repo.tree t WHERE t.path = above FOR KEY SHARE;
	IF exists OR wanted = '/' THEN
		RETURN NULL;
	ELSIF parent_id IS NULL THEN
		RAISE EXCEPTION 'no parent: "%"', wanted USING ERRCODE = 'foreign_key_violation';
	ELSIF locked THEN
		RAISE EXCEPTION 'child "%" of "%" is protected', child_name, above
			USING ERRCODE = 'check_violation';
	END IF;
	IF EXISTS (SELECT FROM repo.content c WHERE c.id = parent_id AND c.properties ? child_name) THEN
		RAISE EXCEPTION 'a property has this name: "%"', wanted
			USING ERRCODE = 'unique_violation';
	END IF;
	IF type IS NULL THEN
		type := repo.type_of_new(parent_id, child_name, node_create.properties);
	END IF;
	def := repo.definition(type, node_create.mixins);
	IF def.name IS DISTINCT FROM type OR def.abstract OR def.mixin OR type = 'rep:root' THEN
		PERFORM repo.node_type_check(type);
	END IF;
	held := repo.properties_of_new(def, node_create.mixins, node_create.properties);
	PERFORM repo.properties_room(wanted, held);
	INSERT INTO repo.tree (parent, name, path, position, primary_type, mixins, resource_type,
			super_type)
		SELECT parent_id, child_name, wanted,
			coalesce((SELECT max(s.position) FROM repo.tree s WHERE s.parent = parent_id), 0)
				+ 1048576,
			type, node_create.mixins,
			CASE WHEN held ? 'sling:resourceType' THEN
				repo.type_text('sling:resourceType', held -> 'sling:resourceType') END,
			CASE WHEN held ? 'sling:resourceSuperType' THEN
				repo.type_text('sling:resourceSuperType', held -> 'sling:resourceSuperType') END
		ON CONFLICT (path) DO NOTHING RETURNING id INTO new_id;
	IF new_id IS NULL THEN
		RETURN NULL;
	END IF;
	INSERT INTO repo.content (id, properties) VALUES (new_id, held);
	PERFORM repo.journal_write('ADDED', wanted);
	IF def.created_children <> '{}' THEN
		PERFORM repo.node_create(wanted || '/' || key, value, '{}', '{}')
			FROM jsonb_each_text(def.created_children);
	END IF;
	RETURN new_id;
END $$;

-- ---- the check ----

-- loose: a node of this type alone is as it wants it, whatever it has. What the type says of jcr:mixinTypes
-- is about what functions write, and only where there are mixins. holds_all: it may have every child.
ALTER TABLE repo.node_type
	ADD COLUMN loose boolean NOT NULL GENERATED ALWAYS AS (
		coalesce(properties -> '*' @> '["*", "*[]"]', false)
		AND properties - '{*,jcr:primaryType,jcr:mixinTypes}'::text[] = '{}'
		AND constraints = '{}' AND mandatory = '{}' AND mandatory_children = '{}'
		AND NOT 'mix:referenceable' = ANY (ancestors)) STORED,
	ADD COLUMN holds_all boolean NOT NULL GENERATED ALWAYS AS (
		coalesce(children -> '*' @> '[["nt:base"]]', false) AND children - '*' = '{}') STORED;

-- As in 0020, after a look at whether there is anything to check.
CREATE OR REPLACE FUNCTION repo.node_check(ids bigint[]) RETURNS void LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
	retyped CONSTANT text := current_setting('boardwalk.retyped', true);
	kind    record;
	def     repo.node_type;
	missed  text;
BEGIN
	IF coalesce(retyped, '') = '' AND coalesce(current_setting('boardwalk.let_go', true), '') = ''
			AND NOT EXISTS (SELECT FROM unnest(node_check.ids) i
			CROSS JOIN LATERAL (SELECT * FROM repo.tree t WHERE t.id = i OFFSET 0) t
			LEFT JOIN LATERAL (SELECT * FROM repo.tree p WHERE p.id = t.parent OFFSET 0) p ON true
			WHERE (t.mixins = '{}'
				AND (SELECT d.loose FROM repo.node_type d WHERE d.name = t.primary_type)
				AND (p.id IS NULL OR p.mixins = '{}' AND (SELECT d.holds_all
					FROM repo.node_type d WHERE d.name = p.primary_type))) IS NOT TRUE) THEN
		RETURN;
	END IF;
	FOR kind IN SELECT t.primary_type, t.mixins, array_agg(t.id) AS ids FROM repo.tree t
			WHERE t.id = ANY (node_check.ids) GROUP BY t.primary_type, t.mixins LOOP
		def := repo.definition(kind.primary_type, kind.mixins);
		PERFORM repo.items_check(def, kind.primary_type || kind.mixins, kind.ids);
		IF 'mix:referenceable' = ANY (def.ancestors) THEN
			PERFORM repo.identifiers_keep(kind.ids);
		END IF;
	END LOOP;
	IF retyped <> '' THEN
		ids := ids || ARRAY (SELECT k.id FROM repo.tree k
			WHERE k.parent = ANY (string_to_array(retyped, ' ')::bigint[]));
		PERFORM set_config('boardwalk.retyped', '', true);
	END IF;
	-- Node by node, so that each is looked up.
	FOR kind IN SELECT p.primary_type, p.mixins, array_agg(t.id) AS ids
			FROM unnest(node_check.ids) i
			CROSS JOIN LATERAL (SELECT * FROM repo.tree t WHERE t.id = i OFFSET 0) t
			CROSS JOIN LATERAL (SELECT * FROM repo.tree p WHERE p.id = t.parent OFFSET 0) p
			GROUP BY p.primary_type, p.mixins LOOP
		PERFORM repo.children_check(repo.definition(kind.primary_type, kind.mixins),
			kind.primary_type || kind.mixins, kind.ids);
	END LOOP;
	IF coalesce(current_setting('boardwalk.let_go', true), '') <> '' THEN
		missed := (SELECT min(u) FROM jsonb_array_elements_text(
				current_setting('boardwalk.let_go')::jsonb) u
			WHERE EXISTS (SELECT FROM repo.reference r WHERE r.target = u)
				AND NOT EXISTS (SELECT FROM repo.identifier i WHERE i.uuid = u));
		IF missed IS NOT NULL THEN
			RAISE EXCEPTION 'a Reference names the node with the identifier "%"', missed
				USING ERRCODE = 'foreign_key_violation';
		END IF;
		PERFORM set_config('boardwalk.let_go', '', true);
	END IF;
END $$;

-- ---- a commit ----

-- As in 0014. Where only one change is made there is mostly nothing to ask.
CREATE OR REPLACE FUNCTION repo.commit_lock(changes jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	several CONSTANT boolean := jsonb_array_length(changes) > 1;
	kinds   text[] := ARRAY[changes -> 0 ->> 'kind'];
	subtree boolean;
	was     text;
	row     record;
BEGIN
	IF several THEN
		kinds := ARRAY (SELECT DISTINCT c ->> 'kind' FROM jsonb_array_elements(changes) c);
	END IF;
	subtree := 'restore' = ANY (kinds);
	IF kinds && '{remove,move}' AND NOT subtree THEN
		-- Something with children, or with children from this commit, or that comes by it.
		subtree := EXISTS (SELECT FROM jsonb_array_elements(changes) c
				LEFT JOIN repo.tree t ON t.path = c ->> 'path' LEFT JOIN repo.tree k ON k.parent = t.id
				WHERE c ->> 'kind' IN ('remove', 'move') AND (t.id IS NULL OR k.id IS NOT NULL))
			OR EXISTS (SELECT FROM jsonb_array_elements(changes) c JOIN jsonb_array_elements(changes) d
				ON repo.path_above(repo.change_target(d)) = c ->> 'path'
				WHERE c ->> 'kind' IN ('remove', 'move'));
	END IF;
	IF NOT kinds <@ '{order,set,unset}' THEN
		PERFORM repo.structure_lock(subtree);
	END IF;
	was := set_config('boardwalk.exclusive', subtree::text, true);
	IF NOT several THEN
		RETURN; -- its function locks what it needs
	END IF;
	FOR row IN SELECT t.path, max(w.strength) AS strength
			FROM (SELECT c ->> 'path' AS path, repo.change_strength(c) AS strength
					FROM jsonb_array_elements(changes) c WHERE c ->> 'kind' <> 'create'
				UNION ALL SELECT repo.path_above(repo.change_target(c)), 1
					FROM jsonb_array_elements(changes) c) w
			JOIN repo.tree t ON t.path = w.path
			GROUP BY t.id, t.path ORDER BY t.id LOOP
		PERFORM repo.tree_lock(row.path, row.strength);
	END LOOP;
END $$;

-- As in 0009.
CREATE OR REPLACE FUNCTION repo.change_create(c jsonb, INOUT f repo.change_fact) LANGUAGE plpgsql AS $$
DECLARE
	wanted CONSTANT text := c ->> 'path';
	extra  text[] := '{}';
	given  CONSTANT jsonb := c -> 'properties';
BEGIN
	IF c -> 'mixins' <> '[]' THEN
		extra := ARRAY (SELECT jsonb_array_elements_text(c -> 'mixins'));
	END IF;
	f.node := repo.node_create(wanted, c ->> 'name', extra, given);
	IF f.node IS NOT NULL AND c ->> 'name' IS NOT NULL THEN
		f.node_type := c ->> 'name';
		f.outcome := 'done';
		RETURN;
	END IF;
	SELECT t.primary_type, coalesce(f.node, t.id), CASE
			WHEN f.node IS NOT NULL THEN 'done'
			WHEN repo.node_is(t.id, coalesce(c ->> 'name',
				repo.type_of_new(f.parent, t.name, given)), extra, given) THEN 'same'
			ELSE 'exists' END
		INTO f.node_type, f.node, f.outcome FROM repo.tree t WHERE t.path = wanted;
END $$;

-- As in 0009.
CREATE OR REPLACE FUNCTION repo.commit_finish(unseen bigint[], hidden jsonb) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	entries bigint;
BEGIN
	IF unseen <> '{}' THEN
		DELETE FROM repo.tree t WHERE t.id = ANY (unseen);
	END IF;
	IF hidden <> '[]' THEN
		UPDATE repo.content c
			SET properties = c.properties - ARRAY (SELECT jsonb_array_elements_text(h -> 'names'))
			FROM jsonb_array_elements(hidden) h WHERE c.id = (h ->> 'node')::bigint;
	END IF;
	PERFORM repo.node_check(current_setting('boardwalk.touched')::bigint[]);
	SELECT g.acl INTO entries FROM repo.generation g;
	RETURN entries;
END $$;

-- As in 0011 and 0015, but their plans are kept: that of a function in SQL is made anew with each
-- transaction, for each row that is written.
CREATE OR REPLACE FUNCTION repo.search_source(properties jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	RETURN (SELECT jsonb_object_agg(key, value) FROM jsonb_each(properties)
		WHERE value ? 's' AND (repo.search_weight(key) IS NOT NULL OR key = 'jcr:language'));
END $$;

CREATE OR REPLACE FUNCTION repo.search_title(txt text) RETURNS tsvector LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	RETURN (SELECT array_to_tsvector(coalesce(array_agg(E'\x01' || lexeme), '{}'))
		FROM unnest(to_tsvector('pg_catalog.simple', left(txt, 1000)))
		WHERE octet_length(lexeme) <= 255 AND lexeme <> 'bwgapwg');
END $$;

-- A sample of a tree with one large folder may know of no other parent, and then each is taken for large.
ALTER TABLE repo.tree ALTER COLUMN parent SET (n_distinct = -0.1);

REVOKE ALL ON FUNCTION repo.name_plain(text), repo.path_plain(text), repo.value_plain(jsonb) FROM PUBLIC;
