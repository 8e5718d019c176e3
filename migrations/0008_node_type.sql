-- 0008_node_type.sql - node types: what a node may hold (JCR 2.0 sections 3.7 and 19).
--
-- Locks and time: a new column of repo.tree with a constant default, which is then filled for the nodes
-- with mixins: as long as reading repo.content once. Undo: DROP TABLE repo.identifier, repo.node_type
-- CASCADE; ALTER TABLE repo.tree DROP COLUMN mixins; and the functions below as 0002 and 0004 have them.
--
-- A definition says which properties and children there may, must and will be. Of each type stands
-- here what was registered, and beside it what follows from it and from the types above, so that
-- nobody climbs at run time. Content from before is not looked at: a node must be as its types want it
-- when it is next changed. Functions that change a node look at the one thing they change; whether
-- the node as a whole is as its types want it is asked once, behind all changes, by repo.node_check.

CREATE TABLE repo.node_type (
	name      text COLLATE "C" PRIMARY KEY,
	declared  jsonb NOT NULL,   -- as registered; repo.node_type_register has the form
	builtin   boolean NOT NULL,
	abstract  boolean NOT NULL,
	mixin     boolean NOT NULL,
	-- What follows, made by repo.node_type_build. Names are those of items, "*" those without a rule.
	ancestors text[] NOT NULL,  -- itself, and all types it is one of
	orderable boolean NOT NULL,
	properties jsonb NOT NULL,  -- name -> ["s", "l[]", "*"]: the tags it may have, "*" any, "[]" a list
	constraints jsonb NOT NULL, -- name -> {"s": [text, ...]}: a value holds to one of them
	mandatory text[] NOT NULL,  -- properties that must be there; jcr:primaryType is, always
	protected text[] NOT NULL,  -- properties that are not set or removed one by one
	created   jsonb NOT NULL,   -- name -> value of what comes by itself, {"system": ...}: now, user, uuid
	children  jsonb NOT NULL,   -- name -> [[type, ...], ...]: a child is all types of one of the lists
	child_types        jsonb NOT NULL,  -- name -> the type of a child for which none was named
	mandatory_children text[] NOT NULL,
	protected_children text[] NOT NULL,
	created_children   jsonb NOT NULL   -- name -> type
);
GRANT SELECT ON repo.node_type TO boardwalk_repo;

-- A node's types are its primary type and these, in the order they came. The property jcr:mixinTypes,
-- which says the same to readers, is written by nobody but the functions that write this.
ALTER TABLE repo.tree ADD COLUMN mixins text[] NOT NULL DEFAULT '{}';
UPDATE repo.tree t SET mixins = ARRAY (
		SELECT jsonb_array_elements_text(c.properties -> 'jcr:mixinTypes' -> 'name'))
	FROM repo.content c WHERE c.id = t.id AND c.properties ? 'jcr:mixinTypes';

-- Who has which jcr:uuid, of the nodes that are mix:referenceable (JCR 2.0 section 3.8).
CREATE TABLE repo.identifier (
	uuid text COLLATE "C" PRIMARY KEY,
	node bigint NOT NULL UNIQUE REFERENCES repo.tree ON DELETE CASCADE
);
GRANT SELECT ON repo.identifier TO boardwalk_repo;

-- ---- names and values ----

-- The qualified form of a name that may be an expanded one, {uri}local (JCR 2.0 section 3.2.5.1). Braces
-- around something else belong to the name.
CREATE FUNCTION repo.name_qualify(name text) RETURNS text LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
DECLARE
	part   CONSTANT text[] := regexp_match(name, '^[{]([^{}]*)[}](.*)$');
	prefix text;
BEGIN
	IF part IS NULL OR part[1] <> '' AND part[1] NOT LIKE '%:%' THEN
		RETURN name;
	ELSIF part[1] = '' THEN
		RETURN part[2];
	END IF;
	prefix := (SELECT n.prefix FROM repo.namespace n WHERE n.uri = part[1]);
	IF prefix IS NULL THEN
		RAISE EXCEPTION 'namespace not registered: "%"', part[1]
			USING ERRCODE = 'invalid_name';
	END IF;
	RETURN prefix || ':' || part[2];
END $$;

-- The same for each name of a path.
CREATE FUNCTION repo.path_qualify(path text) RETURNS text LANGUAGE sql STABLE AS $$
	SELECT CASE WHEN strpos(path, '{') = 0 THEN path ELSE (
		SELECT string_agg('/' || repo.name_qualify(m[1]), '' ORDER BY n)
		FROM regexp_matches(path, '/([{][^{}]*:[^{}]*[}][^/]*|[^/]*)', 'g')
			WITH ORDINALITY r (m, n)) END;
$$;

-- A Path may be relative, and climb (JCR 2.0 section 3.4).
CREATE FUNCTION repo.path_value_check(path text) RETURNS void LANGUAGE plpgsql STABLE AS $$
DECLARE
	name text;
BEGIN
	IF octet_length(path) NOT BETWEEN 1 AND 2048 THEN
		RAISE EXCEPTION 'a path has 1 to 2048 octets' USING ERRCODE = 'invalid_name';
	END IF;
	FOR name IN SELECT unnest(string_to_array(CASE WHEN left(path, 1) = '/' THEN substr(path, 2)
			ELSE path END, '/')) LOOP
		IF path <> '/' AND name NOT IN ('.', '..') THEN
			PERFORM repo.name_check(name);
		END IF;
	END LOOP;
END $$;

-- ISO 8601 as JCR 2.0 section 3.6.4.3 has it, a day that exists, an offset of at most 14 hours.
CREATE FUNCTION repo.date_fits(txt text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
	part CONSTANT text[] := regexp_match(txt, '^-?(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])'
		'T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}(?:Z|[-+](?:0\d:[0-5]\d|1[0-3]:[0-5]\d|14:00))$');
	year CONSTANT integer := part[1];
BEGIN
	RETURN CASE
		WHEN part IS NULL THEN false
		WHEN part[2] IN ('04', '06', '09', '11') THEN part[3] <= '30'
		WHEN part[2] <> '02' THEN true
		WHEN year % 4 = 0 AND (year % 100 <> 0 OR year % 400 = 0) THEN part[3] <= '29'
		ELSE part[3] <= '28' END;
END $$;

-- As in 0002, and Binary; a Date is one, a Name and a Path could be somebody's, a URI is of RFC 3986,
-- and an identifier is not empty. Whether somebody has that identifier is not asked.
CREATE OR REPLACE FUNCTION repo.scalar_fits(tag text, scalar jsonb) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
DECLARE
	kind text := jsonb_typeof(scalar);
	txt  text := scalar #>> '{}';
BEGIN
	IF octet_length(txt) > 65536 THEN
		RAISE EXCEPTION 'value of more than 64 KiB'
			USING ERRCODE = 'program_limit_exceeded';
	ELSIF tag IN ('name', 'path') AND kind = 'string' THEN
		PERFORM CASE tag WHEN 'name' THEN repo.name_check(txt) ELSE repo.path_value_check(txt) END;
	END IF;
	RETURN CASE tag
	WHEN 'l' THEN kind = 'number' AND txt ~ '^-?[0-9]{1,19}$'
		AND txt::numeric BETWEEN -9223372036854775808 AND 9223372036854775807
	WHEN 'b' THEN kind = 'boolean'
	WHEN 'd' THEN kind = 'string'
		AND txt ~ '^([-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]{1,3})?|NaN|-?Infinity)$'
	WHEN 'dec' THEN kind = 'string'
		AND txt ~ '^[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]{1,9})?$'
	WHEN 'date' THEN kind = 'string' AND repo.date_fits(txt)
	WHEN 'bin' THEN kind = 'string' AND txt ~ '^[0-9a-f]{64} (0|[1-9][0-9]{0,9})$'
	WHEN 'uri' THEN kind = 'string'
		AND txt ~ '^([A-Za-z0-9._~:/?#@!$&''()*+,;=[\]-]|%[0-9A-Fa-f]{2})*$'
	WHEN 'ref' THEN kind = 'string' AND txt <> ''
	WHEN 'weak' THEN kind = 'string' AND txt <> ''
	ELSE kind = 'string'
	END;
END $$;
-- As in 0002, and bin.
CREATE OR REPLACE FUNCTION repo.value_check(value jsonb) RETURNS void LANGUAGE plpgsql STABLE AS $$
DECLARE
	tag  text;
	held jsonb;
	one  jsonb;
BEGIN
	IF value IS NULL OR jsonb_typeof(value) <> 'object'
			OR (SELECT count(*) FROM jsonb_object_keys(value)) <> 1 THEN
		RAISE EXCEPTION 'not a typed value: %', left(value::text, 80)
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	SELECT key, m.value INTO tag, held FROM jsonb_each(value) m;
	IF tag NOT IN ('s', 'bin', 'l', 'd', 'dec', 'date', 'b', 'name', 'path', 'ref', 'weak', 'uri') THEN
		RAISE EXCEPTION 'unknown type tag: "%"', tag
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	IF jsonb_typeof(held) <> 'array' THEN
		held := jsonb_build_array(held);
	ELSIF jsonb_array_length(held) > 65535 THEN
		RAISE EXCEPTION 'more than 65535 values' USING ERRCODE = 'program_limit_exceeded';
	END IF;
	FOR one IN SELECT jsonb_array_elements(held) LOOP
		IF NOT repo.scalar_fits(tag, one) THEN
			RAISE EXCEPTION 'value does not fit type tag "%": %', tag, left(one::text, 80)
				USING ERRCODE = 'invalid_parameter_value';
		END IF;
	END LOOP;
END $$;

-- ---- definitions ----

-- Rules by name of two definitions: one of either is enough.
CREATE FUNCTION repo.rules_union(a jsonb, b jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
	SELECT a || coalesce((SELECT jsonb_object_agg(key, coalesce(a -> key, '[]') || value)
		FROM jsonb_each(b)), '{}');
$$;

-- The definition of what is both; where only one thing can be, it is a's.
CREATE FUNCTION repo.definition_union(a repo.node_type, b repo.node_type) RETURNS repo.node_type
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	a.ancestors := a.ancestors
		|| ARRAY (SELECT t FROM unnest(b.ancestors) t WHERE t <> ALL (a.ancestors));
	a.orderable := a.orderable OR b.orderable;
	a.properties := repo.rules_union(a.properties, b.properties);
	a.constraints := b.constraints || a.constraints;
	a.mandatory := a.mandatory || b.mandatory;
	a.protected := a.protected || b.protected;
	a.created := b.created || a.created;
	a.children := repo.rules_union(a.children, b.children);
	a.child_types := b.child_types || a.child_types;
	a.mandatory_children := a.mandatory_children || b.mandatory_children;
	a.protected_children := a.protected_children || b.protected_children;
	a.created_children := b.created_children || a.created_children;
	RETURN a;
END $$;

-- What holds for a node of these types (JCR 2.0 section 3.7.6).
CREATE FUNCTION repo.definition(primary_type text, mixins text[]) RETURNS repo.node_type
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_variable
DECLARE
	result repo.node_type;
	more   repo.node_type;
BEGIN
	SELECT * INTO result FROM repo.node_type t WHERE t.name = primary_type;
	IF mixins = '{}' THEN
		RETURN result;
	END IF;
	FOR more IN SELECT t.* FROM unnest(mixins) WITH ORDINALITY m (name, n)
			JOIN repo.node_type t ON t.name = m.name ORDER BY m.n LOOP
		result := repo.definition_union(result, more);
	END LOOP;
	RETURN result;
END $$;

-- Whether a property may have this value. Rules for its name leave no room for those without one.
CREATE FUNCTION repo.property_fits(rules jsonb, name text, value jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
	SELECT coalesce(rules -> name, rules -> '*', '[]')
		?| CASE jsonb_typeof(v.value) WHEN 'array' THEN ARRAY[v.key || '[]', '*[]']
			ELSE ARRAY[v.key, '*'] END
	FROM jsonb_each(value) v;
$$;

-- "one String", "a list of Long": of a property, for messages.
CREATE FUNCTION repo.value_kind(value jsonb) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE jsonb_typeof(v.value) WHEN 'array' THEN 'a list of ' ELSE 'one ' END
		|| ('{"s": "String", "bin": "Binary", "l": "Long", "d": "Double", "dec": "Decimal",
			"date": "Date", "b": "Boolean", "name": "Name", "path": "Path", "ref": "Reference",
			"weak": "WeakReference", "uri": "URI"}'::jsonb ->> v.key) FROM jsonb_each(value) v;
$$;

-- A number, or the instant of a date, to compare by.
CREATE FUNCTION repo.scalar_rank(tag text, scalar text) RETURNS numeric
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
	part CONSTANT text[] := regexp_match(scalar, '^(-?\d{4})(-.*)$');
BEGIN
	IF tag <> 'date' THEN
		RETURN scalar::numeric;
	ELSIF part[1]::integer > 0 THEN
		RETURN extract(epoch FROM scalar::timestamptz);
	END IF;
	-- ISO 8601 counts the years before 1 from 0 downward.
	RETURN extract(epoch FROM
		(lpad((1 - part[1]::integer)::text, 4, '0') || part[2] || ' BC')::timestamptz);
END $$;

-- Whether a value is what one constraint says (JCR 2.0 section 3.7.3.6): a pattern, a range with either
-- end open, or the value.
CREATE FUNCTION repo.constraint_holds(tag text, scalar text, wanted text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
	range CONSTANT text[] := regexp_match(wanted, '^([[(])([^,]*),([^,]*)([])])$');
	rank  numeric;
BEGIN
	IF tag IN ('s', 'uri') THEN
		RETURN scalar ~ ('^(?:' || wanted || ')$');
	ELSIF tag NOT IN ('l', 'd', 'dec', 'date') THEN
		RETURN scalar = wanted OR tag = 'path' AND right(wanted, 2) = '/*'
			AND starts_with(scalar, left(wanted, -1));
	END IF;
	rank := repo.scalar_rank(tag, scalar);
	RETURN (range[2] = '' OR rank > repo.scalar_rank(tag, range[2])
			OR range[1] = '[' AND rank = repo.scalar_rank(tag, range[2]))
		AND (range[3] = '' OR rank < repo.scalar_rank(tag, range[3])
			OR range[4] = ']' AND rank = repo.scalar_rank(tag, range[3]));
END $$;

-- Whether each value of a property holds to one of its constraints, if there are any.
CREATE FUNCTION repo.constraints_hold(rules jsonb, value jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
	SELECT coalesce(bool_and(EXISTS (SELECT FROM jsonb_array_elements_text(w.wanted) c
			WHERE repo.constraint_holds(v.key, s #>> '{}', c))), true)
	FROM jsonb_each(value) v,
		LATERAL (SELECT jsonb_typeof(v.value) = 'array' AS list) l,
		LATERAL (SELECT rules -> (v.key || CASE WHEN l.list THEN '[]' ELSE '' END) AS wanted) w,
		LATERAL jsonb_array_elements(CASE WHEN l.list THEN v.value
			ELSE jsonb_build_array(v.value) END) s
	WHERE w.wanted IS NOT NULL;
$$;

-- Whether every child of every type may have every name.
CREATE FUNCTION repo.children_open(rules jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
	SELECT rules - '*' = '{}' AND coalesce(rules -> '*' @> '[["nt:base"]]', false);
$$;

CREATE FUNCTION repo.definition_fail(node bigint, types text[], reason text) RETURNS void
LANGUAGE plpgsql STABLE AS $$
BEGIN
	RAISE EXCEPTION '"%" (%): %', (SELECT t.path FROM repo.tree t WHERE t.id = node),
		array_to_string(types, ', '), reason
		USING ERRCODE = 'check_violation';
END $$;

-- ---- the check ----

-- Properties and mandatory items of nodes that have the same types. Offenders are looked for in the order
-- of ids: an order by path would have the planner walk the whole tree.
CREATE FUNCTION repo.items_check(def repo.node_type, types text[], ids bigint[]) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
	-- Where anything is allowed, properties without a rule of their own are not looked at.
	open  CONSTANT boolean := coalesce(def.properties -> '*' @> '["*", "*[]"]', false);
	named CONSTANT text[] := ARRAY (SELECT jsonb_object_keys(def.properties - '*'));
	bad   record;
BEGIN
	-- repo.property_fits, written out: a call of it for each property is most of the time.
	SELECT c.id, p.key, p.value INTO bad
		FROM repo.content c, jsonb_each(c.properties) p, jsonb_each(p.value) v
		WHERE c.id = ANY (items_check.ids) AND (NOT open OR p.key = ANY (named))
			AND NOT coalesce(def.properties -> p.key, def.properties -> '*', '[]')
				?| CASE jsonb_typeof(v.value) WHEN 'array' THEN ARRAY[v.key || '[]', '*[]']
					ELSE ARRAY[v.key, '*'] END
		ORDER BY c.id, p.key LIMIT 1;
	IF FOUND THEN
		PERFORM repo.definition_fail(bad.id, types,
			format('property "%s" may not be %s', bad.key, repo.value_kind(bad.value)));
	END IF;
	IF def.constraints <> '{}' THEN
		SELECT c.id, p.key INTO bad FROM repo.content c, jsonb_each(c.properties) p
			WHERE c.id = ANY (items_check.ids) AND NOT repo.constraints_hold(
				coalesce(def.constraints -> p.key, CASE WHEN NOT def.properties ? p.key
					THEN def.constraints -> '*' END), p.value)
			ORDER BY c.id, p.key LIMIT 1;
		IF FOUND THEN
			PERFORM repo.definition_fail(bad.id, types,
				format('property "%s" has a value that no constraint allows', bad.key));
		END IF;
	END IF;
	IF def.mandatory <> '{}' THEN
		SELECT c.id, m INTO bad FROM repo.content c, unnest(def.mandatory) m
			WHERE c.id = ANY (items_check.ids) AND NOT c.properties ? m
			ORDER BY c.id, m LIMIT 1;
		IF FOUND THEN
			PERFORM repo.definition_fail(bad.id, types,
				format('property "%s" is missing', bad.m));
		END IF;
	END IF;
	IF def.mandatory_children <> '{}' THEN
		SELECT t.id, m INTO bad FROM repo.tree t, unnest(def.mandatory_children) m
			WHERE t.id = ANY (items_check.ids)
				-- Nobody who removes it meanwhile commits unseen.
				AND NOT EXISTS (SELECT FROM repo.tree k
					WHERE k.path = rtrim(t.path, '/') || '/' || m FOR KEY SHARE)
			ORDER BY t.id, m LIMIT 1;
		IF FOUND THEN
			PERFORM repo.definition_fail(bad.id, types,
				format('child "%s" is missing', bad.m));
		END IF;
	END IF;
END $$;

-- Whether nodes may be children of their parents, which all have the same types.
CREATE FUNCTION repo.children_check(def repo.node_type, types text[], ids bigint[]) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
	bad record;
BEGIN
	IF repo.children_open(def.children) THEN
		RETURN;
	END IF;
	SELECT t.parent, t.name, t.primary_type INTO bad
		FROM repo.tree t JOIN repo.node_type k ON k.name = t.primary_type
		WHERE t.id = ANY (children_check.ids) AND NOT EXISTS (
			SELECT FROM jsonb_array_elements(
				coalesce(def.children -> t.name, def.children -> '*', '[]')) r
			WHERE to_jsonb(k.ancestors) @> r)
		ORDER BY t.id LIMIT 1;
	IF FOUND THEN
		PERFORM repo.definition_fail(bad.parent, types,
			format('there may be no child "%s" of type "%s"', bad.name, bad.primary_type));
	END IF;
END $$;

-- Enters the nodes that are referenceable; that nobody else has the identifier is the table's to know.
CREATE FUNCTION repo.identifiers_keep(ids bigint[]) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
	twin record;
BEGIN
	SELECT max(path) AS path, min(path) AS other INTO twin FROM (
			SELECT t.path, c.properties -> 'jcr:uuid' ->> 's' AS uuid
				FROM repo.content c JOIN repo.tree t ON t.id = c.id
				WHERE c.id = ANY (identifiers_keep.ids)
			UNION SELECT u.path, i.uuid
				FROM repo.content c
					JOIN repo.identifier i ON i.uuid = c.properties -> 'jcr:uuid' ->> 's'
					JOIN repo.tree u ON u.id = i.node
				WHERE c.id = ANY (identifiers_keep.ids)) n
		GROUP BY uuid HAVING count(*) > 1 ORDER BY 1 LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION '"%" has the identifier of "%"', twin.path, twin.other
			USING ERRCODE = 'unique_violation';
	END IF;
	INSERT INTO repo.identifier (uuid, node)
		SELECT c.properties -> 'jcr:uuid' ->> 's', c.id FROM repo.content c
		WHERE c.id = ANY (identifiers_keep.ids) ORDER BY 1
		ON CONFLICT (node) DO UPDATE SET uuid = excluded.uuid
			WHERE identifier.uuid <> excluded.uuid;
END $$;

-- Raises check_violation if one of these nodes is not as its types want it, or may not be where it is.
-- ids: the nodes that were added, changed, renamed or moved, and the parents of those that went away.
-- Called once, behind all changes of a transaction or statement. All children of a node whose types
-- have changed are looked at as well.
-- Generic plans: to plan for the values at hand takes longer than the check.
CREATE FUNCTION repo.node_check(ids bigint[]) RETURNS void LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
	retyped CONSTANT text := current_setting('boardwalk.retyped', true);
	kind    record;
	def     repo.node_type;
BEGIN
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
	-- Node by node: a plan that was made while the tree was small would read all of tree_children, which
	-- holds these two columns as well, and stays for as long as the connection.
	FOR kind IN SELECT p.primary_type, p.mixins, array_agg(t.id) AS ids
			FROM unnest(node_check.ids) i
			CROSS JOIN LATERAL (SELECT * FROM repo.tree t WHERE t.id = i OFFSET 0) t
			CROSS JOIN LATERAL (SELECT * FROM repo.tree p WHERE p.id = t.parent OFFSET 0) p
			GROUP BY p.primary_type, p.mixins LOOP
		PERFORM repo.children_check(repo.definition(kind.primary_type, kind.mixins),
			kind.primary_type || kind.mixins, kind.ids);
	END LOOP;
END $$;

-- Remembers until the next repo.node_check of this transaction that a node's types have changed.
CREATE FUNCTION repo.node_retyped(node bigint) RETURNS void LANGUAGE sql AS $$
	SELECT set_config('boardwalk.retyped',
		ltrim(coalesce(current_setting('boardwalk.retyped', true), '') || ' ' || node), true);
	DELETE FROM repo.identifier i WHERE i.node = node_retyped.node;
$$;

-- ---- registration ----

-- A default value as a property has it: texts of a definition become values of the type with this tag.
CREATE FUNCTION repo.default_value(tag text, texts jsonb, multiple boolean) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
DECLARE
	held jsonb;
BEGIN
	tag := CASE tag WHEN '*' THEN 's' ELSE tag END;
	IF tag IN ('l', 'b') AND EXISTS (SELECT FROM jsonb_array_elements_text(texts) t
			WHERE t !~ CASE tag WHEN 'l' THEN '^-?[0-9]{1,19}$' ELSE '^(true|false)$' END) THEN
		RAISE EXCEPTION 'default values do not fit their type: %', texts
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	held := (SELECT jsonb_agg(CASE tag WHEN 'l' THEN to_jsonb(t::numeric)
			WHEN 'b' THEN to_jsonb(t::boolean) ELSE to_jsonb(t) END ORDER BY n)
		FROM jsonb_array_elements_text(texts) WITH ORDINALITY e (t, n));
	held := jsonb_build_object(tag, CASE WHEN multiple THEN held ELSE held -> 0 END);
	PERFORM repo.value_check(held);
	RETURN held;
END $$;

-- What a property that is made by itself begins with (JCR 2.0 sections 3.7.10 and 3.7.11).
CREATE FUNCTION repo.created_value(type text, item jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
DECLARE
	system CONSTANT jsonb := '{"jcr:created": "now", "jcr:lastModified": "now", "jcr:createdBy": "user",
		"jcr:lastModifiedBy": "user", "jcr:uuid": "uuid"}';
BEGIN
	IF jsonb_array_length(item -> 'default') > 0 THEN
		RETURN repo.default_value(item ->> 'type', item -> 'default',
			(item ->> 'multiple')::boolean);
	ELSIF NOT system ? (item ->> 'name') THEN
		RAISE EXCEPTION 'node type "%": auto-created property "%" without a value',
			type, item ->> 'name'
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	RETURN jsonb_build_object('system', system -> (item ->> 'name'));
END $$;

-- The types right above: those declared, and nt:base above each primary type that has none.
CREATE FUNCTION repo.node_type_supers(declared jsonb) RETURNS text[] LANGUAGE sql STABLE AS $$
	SELECT s || CASE WHEN (declared ->> 'mixin')::boolean OR declared ->> 'name' = 'nt:base'
			OR EXISTS (SELECT FROM repo.node_type t WHERE t.name = ANY (s) AND NOT t.mixin)
		THEN '{}' ELSE '{nt:base}'::text[] END
	FROM (SELECT ARRAY (SELECT jsonb_array_elements_text(declared -> 'supers')) AS s) d;
$$;

-- What a declaration says itself.
CREATE FUNCTION repo.node_type_own(declared jsonb) RETURNS repo.node_type
LANGUAGE plpgsql STABLE AS $$
DECLARE
	own   repo.node_type;
	item  jsonb;
	name  text;
	shape text;
BEGIN
	own.ancestors := ARRAY[declared ->> 'name'];
	own.orderable := (declared ->> 'orderable')::boolean;
	own.properties := '{}'; own.constraints := '{}'; own.mandatory := '{}';
	own.protected := '{}'; own.created := '{}';
	own.children := '{}'; own.child_types := '{}'; own.created_children := '{}';
	own.mandatory_children := '{}'; own.protected_children := '{}';
	FOR item IN SELECT jsonb_array_elements(declared -> 'properties') LOOP
		name := item ->> 'name';
		shape := (item ->> 'type')
			|| CASE WHEN (item ->> 'multiple')::boolean THEN '[]' ELSE '' END;
		own.properties := repo.rules_union(own.properties,
			jsonb_build_object(name, jsonb_build_array(shape)));
		IF item -> 'constraints' <> '[]' THEN
			own.constraints := own.constraints || jsonb_build_object(name,
				coalesce(own.constraints -> name, '{}')
					|| jsonb_build_object(shape, item -> 'constraints'));
		END IF;
		IF (item ->> 'protected')::boolean THEN
			own.protected := own.protected || name;
		END IF;
		IF name = 'jcr:primaryType' THEN
			CONTINUE; -- a column of its own, and never missing
		END IF;
		IF (item ->> 'mandatory')::boolean THEN
			own.mandatory := own.mandatory || name;
		END IF;
		IF (item ->> 'auto')::boolean THEN
			own.created := own.created
				|| jsonb_build_object(name, repo.created_value(declared ->> 'name', item));
		END IF;
	END LOOP;
	FOR item IN SELECT jsonb_array_elements(declared -> 'children') LOOP
		name := item ->> 'name';
		own.children := repo.rules_union(own.children,
			jsonb_build_object(name, jsonb_build_array(item -> 'required')));
		IF item ->> 'default' IS NOT NULL AND NOT own.child_types ? name THEN
			own.child_types := own.child_types || jsonb_build_object(name, item -> 'default');
		END IF;
		IF (item ->> 'mandatory')::boolean THEN
			own.mandatory_children := own.mandatory_children || name;
		END IF;
		IF (item ->> 'protected')::boolean THEN
			own.protected_children := own.protected_children || name;
		END IF;
		IF (item ->> 'auto')::boolean THEN
			own.created_children := own.created_children
				|| jsonb_build_object(name, item -> 'default');
		END IF;
	END LOOP;
	RETURN own;
END $$;

-- Works out what follows from a declaration; the types above have been worked out. Its rules for a name
-- stand in the place of inherited ones.
CREATE FUNCTION repo.node_type_build(type text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	declared jsonb := (SELECT t.declared FROM repo.node_type t WHERE t.name = type);
	result   repo.node_type := repo.node_type_own(declared);
	above    repo.node_type;
BEGIN
	FOR above IN SELECT t.* FROM unnest(repo.node_type_supers(declared)) WITH ORDINALITY s (name, n)
			JOIN repo.node_type t ON t.name = s.name ORDER BY s.n LOOP
		above.properties := above.properties
			- ARRAY (SELECT k FROM jsonb_object_keys(result.properties) k WHERE k <> '*');
		above.constraints := above.constraints
			- ARRAY (SELECT k FROM jsonb_object_keys(result.properties) k WHERE k <> '*');
		above.children := above.children
			- ARRAY (SELECT k FROM jsonb_object_keys(result.children) k WHERE k <> '*');
		result := repo.definition_union(result, above);
	END LOOP;
	UPDATE repo.node_type t SET ancestors = result.ancestors, orderable = result.orderable,
		properties = result.properties, constraints = result.constraints,
		mandatory = result.mandatory, protected = result.protected, created = result.created,
		children = result.children, child_types = result.child_types,
		mandatory_children = result.mandatory_children,
		protected_children = result.protected_children,
		created_children = result.created_children
		WHERE t.name = type;
END $$;

CREATE FUNCTION repo.node_type_fail(type text, reason text) RETURNS void
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	RAISE EXCEPTION 'node type "%": %', type, reason USING ERRCODE = 'invalid_parameter_value';
END $$;

-- That a constraint is one: it is tried on a value.
CREATE FUNCTION repo.constraint_check(type text, tag text, wanted text) RETURNS void
LANGUAGE plpgsql STABLE AS $$
BEGIN
	IF tag IN ('l', 'd', 'dec', 'date') AND wanted !~ '^[[(][^,]*,[^,]*[])]$' THEN
		PERFORM repo.node_type_fail(type, format('not a range: "%s"', wanted));
	END IF;
	PERFORM repo.constraint_holds(tag,
		CASE tag WHEN 'date' THEN '2000-01-01T00:00:00.000Z' ELSE '0' END, wanted);
EXCEPTION WHEN invalid_regular_expression OR data_exception THEN
	PERFORM repo.node_type_fail(type, format('not a constraint: "%s"', wanted));
END $$;

-- One item of a declaration, as far as it can be judged alone.
CREATE FUNCTION repo.node_type_item_check(type text, item jsonb, child boolean) RETURNS void
LANGUAGE plpgsql STABLE AS $$
DECLARE
	name CONSTANT text := item ->> 'name';
BEGIN
	IF name = '*' AND ((item ->> 'mandatory')::boolean OR (item ->> 'auto')::boolean) THEN
		PERFORM repo.node_type_fail(type, 'only a named item is mandatory or auto-created');
	ELSIF name <> '*' THEN
		PERFORM repo.name_check(name);
	END IF;
	IF child AND (item ->> 'auto')::boolean AND item ->> 'default' IS NULL THEN
		PERFORM repo.node_type_fail(type,
			format('auto-created child "%s" without a default type', name));
	ELSIF NOT child AND NOT (item ->> 'multiple')::boolean
			AND jsonb_array_length(item -> 'default') > 1 THEN
		PERFORM repo.node_type_fail(type,
			format('several default values of property "%s"', name));
	ELSIF NOT child AND item ->> 'type' NOT IN ('*', 's', 'bin', 'l', 'd', 'dec', 'date', 'b',
			'name', 'path', 'ref', 'weak', 'uri') THEN
		PERFORM repo.node_type_fail(type, format('unknown type of property "%s"', name));
	ELSIF NOT child AND item ->> 'type' IN ('*', 'bin', 'ref', 'weak')
			AND item -> 'constraints' <> '[]' THEN
		PERFORM repo.node_type_fail(type,
			format('values of property "%s" cannot be constrained', name));
	END IF;
	IF NOT child THEN
		PERFORM CASE WHEN (item ->> 'auto')::boolean AND name <> 'jcr:primaryType'
			THEN repo.created_value(type, item) WHEN item -> 'default' <> '[]' THEN
			repo.default_value(item ->> 'type', item -> 'default',
				(item ->> 'multiple')::boolean) END;
		PERFORM repo.constraint_check(type, item ->> 'type', c)
			FROM jsonb_array_elements_text(item -> 'constraints') c;
	END IF;
END $$;

-- A declaration by itself: types that it names are looked for later.
CREATE FUNCTION repo.node_type_declaration_check(declared jsonb) RETURNS void
LANGUAGE plpgsql STABLE AS $$
DECLARE
	type CONSTANT text := declared ->> 'name';
	item jsonb;
BEGIN
	PERFORM repo.name_check(type);
	IF (declared ->> 'abstract')::boolean AND (declared ->> 'mixin')::boolean THEN
		PERFORM repo.node_type_fail(type, 'a mixin is not abstract');
	ELSIF jsonb_array_length(declared -> 'properties')
			+ jsonb_array_length(declared -> 'children') > 512 THEN
		PERFORM repo.node_type_fail(type, 'more than 512 items');
	END IF;
	FOR item IN SELECT jsonb_array_elements(declared -> 'properties') LOOP
		PERFORM repo.node_type_item_check(type, item, false);
	END LOOP;
	FOR item IN SELECT jsonb_array_elements(declared -> 'children') LOOP
		PERFORM repo.node_type_item_check(type, item, true);
	END LOOP;
END $$;

-- A JSON list of names.
CREATE FUNCTION repo.names_qualify(names jsonb) RETURNS jsonb LANGUAGE sql STABLE AS $$
	SELECT coalesce(jsonb_agg(repo.name_qualify(name) ORDER BY n), '[]')
		FROM jsonb_array_elements_text(names) WITH ORDINALITY e (name, n);
$$;

-- What a declaration says about other types, when all of them are there and worked out.
CREATE FUNCTION repo.node_type_references_check(t repo.node_type) RETURNS void
LANGUAGE plpgsql STABLE AS $$
DECLARE
	item   jsonb;
	other  repo.node_type;
	wanted text;
BEGIN
	FOR item IN SELECT jsonb_array_elements(t.declared -> 'children') LOOP
		FOR wanted IN SELECT jsonb_array_elements_text(item -> 'required') LOOP
			IF NOT EXISTS (SELECT FROM repo.node_type o
					WHERE o.name = wanted AND NOT o.mixin) THEN
				PERFORM repo.node_type_fail(t.name,
					format('there is no type "%s" for children', wanted));
			END IF;
		END LOOP;
		SELECT * INTO other FROM repo.node_type o WHERE o.name = item ->> 'default';
		IF item ->> 'default' IS NULL THEN
			CONTINUE;
		ELSIF other.name IS NULL OR other.mixin OR other.abstract
				OR NOT to_jsonb(other.ancestors) @> (item -> 'required') THEN
			PERFORM repo.node_type_fail(t.name,
				format('"%s" cannot be the type of child "%s"',
				item ->> 'default', item ->> 'name'));
		END IF;
	END LOOP;
	-- What comes by itself ends somewhere.
	IF EXISTS (WITH RECURSIVE below (type) AS (
			SELECT value FROM jsonb_each_text(t.created_children)
			UNION SELECT e.value FROM below b JOIN repo.node_type o ON o.name = b.type,
				jsonb_each_text(o.created_children) e)
			SELECT FROM below WHERE type = t.name) THEN
		PERFORM repo.node_type_fail(t.name, 'auto-created children would have no end');
	END IF;
END $$;

-- A declaration with its names in their qualified form.
CREATE FUNCTION repo.node_type_qualify(declared jsonb) RETURNS jsonb LANGUAGE sql STABLE AS $$
	SELECT CASE WHEN strpos(declared::text, '"{') = 0 THEN declared ELSE declared || jsonb_build_object(
		'name', repo.name_qualify(declared ->> 'name'),
		'supers', repo.names_qualify(declared -> 'supers'),
		'properties', (SELECT coalesce(jsonb_agg(i || jsonb_build_object(
				'name', repo.name_qualify(i ->> 'name')) ORDER BY n), '[]')
			FROM jsonb_array_elements(declared -> 'properties') WITH ORDINALITY e (i, n)),
		'children', (SELECT coalesce(jsonb_agg(i || jsonb_build_object(
				'name', repo.name_qualify(i ->> 'name'),
				'required', repo.names_qualify(i -> 'required'),
				'default', repo.name_qualify(i ->> 'default')) ORDER BY n), '[]')
			FROM jsonb_array_elements(declared -> 'children') WITH ORDINALITY e (i, n))) END;
$$;

-- Works out types in an order in which the ones above come first.
CREATE FUNCTION repo.node_types_build(types text[]) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
	ready text[];
BEGIN
	WHILE types <> '{}' LOOP
		ready := ARRAY (SELECT t.name FROM repo.node_type t WHERE t.name = ANY (types)
			AND NOT repo.node_type_supers(t.declared) && types);
		IF ready = '{}' THEN
			PERFORM repo.node_type_fail(types[1], 'its super types form a circle');
		END IF;
		PERFORM repo.node_type_build(r) FROM unnest(ready) r;
		types := ARRAY (SELECT t FROM unnest(types) t WHERE t <> ALL (ready));
	END LOOP;
END $$;

-- All nodes of these types, against what holds now.
CREATE FUNCTION repo.node_types_check_content(types text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	ids bigint[] := ARRAY (SELECT t.id FROM repo.tree t
		WHERE t.primary_type = ANY (types) OR t.mixins && types ORDER BY t.id);
BEGIN
	FOR i IN 1 .. cardinality(ids) BY 10000 LOOP
		PERFORM set_config('boardwalk.retyped', array_to_string(ids[i : i + 9999], ' '), true);
		PERFORM repo.node_check(ids[i : i + 9999]);
	END LOOP;
END $$;

-- Registers types, which may name each other; those that changed come back. A declaration:
--   {"name", "supers": [...], "abstract", "mixin", "orderable", "primary_item",
--    "properties": [{"name", "type": tag or "*", "multiple", "mandatory", "auto", "protected",
--      "default": [texts], "constraints": [texts], "opv"}],
--    "children": [{"name", "required": [types], "default": type or null, "mandatory", "auto",
--      "protected", "opv"}]}
-- Refused if a node that is there would not be as its types want it.
CREATE FUNCTION repo.node_types_register(declared jsonb, builtin boolean DEFAULT false) RETURNS text[]
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
	one      jsonb;
	old      repo.node_type;
	changed  text[] := '{}';
	new      text[] := '{}';
	affected text[];
	missing  text;
BEGIN
	declared := (SELECT coalesce(jsonb_agg(repo.node_type_qualify(d) ORDER BY n), '[]')
		FROM jsonb_array_elements(declared) WITH ORDINALITY e (d, n));
	FOR one IN SELECT jsonb_array_elements(declared) LOOP
		SELECT * INTO old FROM repo.node_type t WHERE t.name = one ->> 'name';
		IF old.declared = one THEN
			CONTINUE;
		ELSIF old.builtin THEN
			PERFORM repo.node_type_fail(old.name, 'is built in and is another one');
		ELSIF one ->> 'name' = ANY (changed) THEN
			PERFORM repo.node_type_fail(one ->> 'name', 'a second time');
		END IF;
		PERFORM repo.node_type_declaration_check(one);
		IF old.name IS NULL THEN
			new := new || (one ->> 'name');
		END IF;
		changed := changed || (one ->> 'name');
	END LOOP;
	IF changed = '{}' THEN
		RETURN changed;
	END IF;
	-- Nobody who has judged by the old definitions commits behind our look at the content.
	IF new <> changed THEN
		LOCK TABLE repo.node_type IN ACCESS EXCLUSIVE MODE;
	END IF;
	FOR one IN SELECT d FROM jsonb_array_elements(declared) d
			WHERE d ->> 'name' = ANY (changed) LOOP
		INSERT INTO repo.node_type VALUES (one ->> 'name', one, builtin,
				(one ->> 'abstract')::boolean, (one ->> 'mixin')::boolean, '{}', false,
				'{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}')
			ON CONFLICT (name) DO UPDATE SET declared = excluded.declared,
				abstract = excluded.abstract, mixin = excluded.mixin;
	END LOOP;
	SELECT t.name || '": there is no super type "' || s INTO missing FROM repo.node_type t,
		unnest(repo.node_type_supers(t.declared)) s WHERE t.name = ANY (changed)
		AND NOT EXISTS (SELECT FROM repo.node_type o WHERE o.name = s AND (o.mixin OR NOT t.mixin));
	IF missing IS NOT NULL THEN
		RAISE EXCEPTION 'node type "%"', missing USING ERRCODE = 'invalid_parameter_value';
	END IF;
	affected := ARRAY (SELECT t.name FROM repo.node_type t
		WHERE t.name = ANY (changed) OR t.ancestors && changed);
	PERFORM repo.node_types_build(affected);
	PERFORM repo.node_type_references_check(t) FROM repo.node_type t WHERE t.name = ANY (affected);
	IF new <> changed THEN
		PERFORM repo.node_types_check_content(affected);
	END IF;
	RETURN changed;
END $$;

-- ---- the types that are always there ----

-- Short forms of declarations, for the list below.
CREATE FUNCTION pg_temp.p(name text, type text, flags text DEFAULT '') RETURNS jsonb
LANGUAGE sql AS $$
	SELECT jsonb_build_object('name', name, 'type', type, 'multiple', flags ~ 'L',
		'mandatory', flags ~ 'M', 'auto', flags ~ 'A', 'protected', flags ~ 'P',
		'default', '[]'::jsonb, 'constraints', '[]'::jsonb,
		'opv', CASE WHEN flags ~ 'C' THEN 'COMPUTE' WHEN flags ~ 'I' THEN 'INITIALIZE'
			WHEN flags ~ 'G' THEN 'IGNORE' ELSE 'COPY' END);
$$;
CREATE FUNCTION pg_temp.k(name text, required text, child text DEFAULT NULL, flags text DEFAULT '')
RETURNS jsonb LANGUAGE sql AS $$
	SELECT jsonb_build_object('name', name, 'required', jsonb_build_array(required), 'default', child,
		'mandatory', flags ~ 'M', 'auto', flags ~ 'A', 'protected', flags ~ 'P',
		'opv', CASE WHEN flags ~ 'V' THEN 'VERSION' WHEN flags ~ 'G' THEN 'IGNORE' ELSE 'COPY' END);
$$;
-- flags: A abstract, X mixin, O orderable.
CREATE FUNCTION pg_temp.t(name text, supers text[], flags text, properties jsonb, children jsonb,
	item text DEFAULT NULL) RETURNS jsonb LANGUAGE sql AS $$
	SELECT jsonb_build_object('name', name, 'supers', supers, 'abstract', flags ~ 'A',
		'mixin', flags ~ 'X', 'orderable', flags ~ 'O', 'primary_item', item,
		'properties', properties, 'children', children);
$$;
CREATE FUNCTION pg_temp.l(VARIADIC items jsonb[]) RETURNS jsonb LANGUAGE sql AS $$
	SELECT to_jsonb(items);
$$;

SELECT repo.node_types_register(pg_temp.l(
	pg_temp.t('nt:base', '{}', 'A', pg_temp.l(pg_temp.p('jcr:primaryType', 'name', 'MAPC'),
		pg_temp.p('jcr:mixinTypes', 'name', 'LPC')), '[]'),
	pg_temp.t('rep:root', '{}', 'O', pg_temp.l(pg_temp.p('*', '*'), pg_temp.p('*', '*', 'L')),
		pg_temp.l(pg_temp.k('*', 'nt:base', 'sling:Folder', 'V'))),
	pg_temp.t('nt:unstructured', '{}', 'O', pg_temp.l(pg_temp.p('*', '*'), pg_temp.p('*', '*', 'L')),
		pg_temp.l(pg_temp.k('*', 'nt:base', 'nt:unstructured', 'V'))),
	pg_temp.t('nt:hierarchyNode', '{mix:created}', 'A', '[]', '[]'),
	pg_temp.t('nt:folder', '{nt:hierarchyNode}', '', '[]',
		pg_temp.l(pg_temp.k('*', 'nt:hierarchyNode', NULL, 'V'))),
	pg_temp.t('nt:file', '{nt:hierarchyNode}', '', '[]',
		pg_temp.l(pg_temp.k('jcr:content', 'nt:base', NULL, 'M')), 'jcr:content'),
	pg_temp.t('nt:resource', '{mix:mimeType,mix:lastModified,mix:referenceable}', '',
		pg_temp.l(pg_temp.p('jcr:data', 'bin', 'M')), '[]', 'jcr:data'),
	pg_temp.t('oak:Resource', '{mix:mimeType,mix:lastModified}', '',
		pg_temp.l(pg_temp.p('jcr:data', 'bin', 'M')), '[]', 'jcr:data'),
	pg_temp.t('sling:Folder', '{nt:folder}', '',
		pg_temp.l(pg_temp.p('*', '*', 'L'), pg_temp.p('*', '*')),
		pg_temp.l(pg_temp.k('*', 'nt:base', 'sling:Folder', 'V'))),
	pg_temp.t('sling:OrderedFolder', '{sling:Folder}', 'O', '[]', '[]'),
	pg_temp.t('sling:MappingSpec', '{}', 'X', pg_temp.l(pg_temp.p('sling:match', 's'),
		pg_temp.p('sling:internalRedirect', 's'), pg_temp.p('sling:internalRedirect', 's', 'L'),
		pg_temp.p('sling:redirect', 's'), pg_temp.p('sling:status', 'l')), '[]'),
	pg_temp.t('sling:Mapping', '{sling:MappingSpec,sling:Resource,nt:hierarchyNode}', 'O',
		pg_temp.l(pg_temp.p('*', '*', 'L'), pg_temp.p('*', '*')),
		pg_temp.l(pg_temp.k('*', 'nt:base', 'sling:Mapping', 'V'))),
	pg_temp.t('mix:created', '{}', 'X', pg_temp.l(pg_temp.p('jcr:created', 'date', 'AP'),
		pg_temp.p('jcr:createdBy', 's', 'AP')), '[]'),
	pg_temp.t('mix:lastModified', '{}', 'X', pg_temp.l(pg_temp.p('jcr:lastModified', 'date', 'A'),
		pg_temp.p('jcr:lastModifiedBy', 's', 'A')), '[]'),
	pg_temp.t('mix:title', '{}', 'X', pg_temp.l(pg_temp.p('jcr:title', 's'),
		pg_temp.p('jcr:description', 's')), '[]'),
	pg_temp.t('mix:mimeType', '{}', 'X', pg_temp.l(pg_temp.p('jcr:mimeType', 's'),
		pg_temp.p('jcr:encoding', 's')), '[]'),
	pg_temp.t('mix:language', '{}', 'X', pg_temp.l(pg_temp.p('jcr:language', 's')), '[]'),
	pg_temp.t('mix:referenceable', '{}', 'X', pg_temp.l(pg_temp.p('jcr:uuid', 's', 'MAPI')), '[]'),
	pg_temp.t('mix:simpleVersionable', '{}', 'X', pg_temp.l(
		pg_temp.p('jcr:isCheckedOut', 'b', 'MAPG') || '{"default": ["true"]}'), '[]'),
	pg_temp.t('mix:versionable', '{mix:simpleVersionable,mix:referenceable}', 'X', '[]', '[]'),
	pg_temp.t('mix:lockable', '{}', 'X', pg_temp.l(pg_temp.p('jcr:lockOwner', 's', 'PG'),
		pg_temp.p('jcr:lockIsDeep', 'b', 'PG')), '[]'),
	pg_temp.t('rep:AccessControllable', '{}', 'X', '[]',
		pg_temp.l(pg_temp.k('rep:policy', 'nt:base', NULL, 'PG'))),
	pg_temp.t('sling:Resource', '{}', 'X', pg_temp.l(pg_temp.p('sling:resourceType', 's')), '[]'),
	pg_temp.t('sling:ResourceSuperType', '{}', 'X',
		pg_temp.l(pg_temp.p('sling:resourceSuperType', 's')), '[]'),
	pg_temp.t('sling:VanityPath', '{}', 'X', pg_temp.l(pg_temp.p('sling:vanityPath', 's'),
		pg_temp.p('sling:vanityPath', 's', 'L'), pg_temp.p('sling:redirect', 'b'),
		pg_temp.p('sling:vanityOrder', 'l'), pg_temp.p('sling:redirectStatus', 'l')), '[]'),
	pg_temp.t('sling:Redirect', '{sling:Resource}', 'X', pg_temp.l(pg_temp.p('sling:target', '*'),
		pg_temp.p('sling:redirectStatus', 'l')), '[]'),
	pg_temp.t('sling:ResourceAlias', '{}', 'X', pg_temp.l(pg_temp.p('sling:alias', 's'),
		pg_temp.p('sling:alias', 's', 'L')), '[]')), true);
DROP FUNCTION pg_temp.p, pg_temp.k, pg_temp.t, pg_temp.l;

-- Of two nodes that have come to the same identifier the older one keeps it.
INSERT INTO repo.identifier (uuid, node)
	SELECT c.properties -> 'jcr:uuid' ->> 's', t.id FROM repo.tree t JOIN repo.content c ON c.id = t.id
	WHERE 'mix:referenceable' = ANY (t.mixins) AND c.properties -> 'jcr:uuid' ? 's' ORDER BY t.id
	ON CONFLICT (uuid) DO NOTHING;

-- ---- types of nodes ----

CREATE OR REPLACE FUNCTION repo.node_type_check(type text) RETURNS void
LANGUAGE plpgsql STABLE AS $$
DECLARE
	found repo.node_type;
BEGIN
	SELECT * INTO found FROM repo.node_type t WHERE t.name = type;
	IF found.name IS NULL OR type = 'rep:root' THEN
		RAISE EXCEPTION 'unknown node type: "%"', type
			USING ERRCODE = 'invalid_parameter_value';
	ELSIF found.abstract THEN
		RAISE EXCEPTION 'node type is abstract: "%"', type
			USING ERRCODE = 'invalid_parameter_value';
	ELSIF found.mixin THEN
		RAISE EXCEPTION 'node type is a mixin: "%"', type
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
END $$;

CREATE OR REPLACE FUNCTION repo.mixin_check(mixin text) RETURNS void LANGUAGE plpgsql STABLE AS $$
DECLARE
	is_mixin boolean := (SELECT t.mixin FROM repo.node_type t WHERE t.name = mixin_check.mixin);
BEGIN
	IF is_mixin IS NULL THEN
		RAISE EXCEPTION 'unknown mixin: "%"', mixin
			USING ERRCODE = 'invalid_parameter_value';
	ELSIF NOT is_mixin THEN
		RAISE EXCEPTION 'node type is no mixin: "%"', mixin
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
END $$;

-- Whether the one is the other or below it.
CREATE FUNCTION repo.node_type_is(type text, wanted text) RETURNS boolean LANGUAGE sql STABLE AS $$
	SELECT EXISTS (SELECT FROM repo.node_type t WHERE t.name = type AND wanted = ANY (t.ancestors));
$$;

-- Whether children of this node have an order that somebody may change (JCR 2.0 section 5.2.2.1).
CREATE FUNCTION repo.node_orderable(node bigint) RETURNS boolean LANGUAGE sql STABLE AS $$
	SELECT bool_or(d.orderable) FROM repo.tree t
		JOIN repo.node_type d ON d.name = ANY (t.primary_type || t.mixins) WHERE t.id = node;
$$;

-- What a child is for which nobody names a type; NULL: its parent has none to offer.
DROP FUNCTION repo.child_type(text);
CREATE FUNCTION repo.child_type(parent bigint, child text) RETURNS text LANGUAGE sql STABLE AS $$
	SELECT coalesce(d.child_types ->> child,
			CASE WHEN NOT d.children ? child THEN d.child_types ->> '*' END)
		FROM repo.tree t, repo.definition(t.primary_type, t.mixins) d
		WHERE t.id = child_type.parent;
$$;

-- What comes by itself with a definition, as it is now: in the name of boardwalk.principal.
CREATE FUNCTION repo.created_properties(created jsonb) RETURNS jsonb LANGUAGE sql STABLE AS $$
	SELECT coalesce(jsonb_object_agg(key, CASE value ->> 'system'
		WHEN 'now' THEN jsonb_build_object('date',
			to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
		WHEN 'user' THEN jsonb_build_object('s',
			coalesce(nullif(current_setting('boardwalk.principal', true), ''), 'admin'))
		WHEN 'uuid' THEN jsonb_build_object('s', gen_random_uuid()::text)
		ELSE value END), '{}') FROM jsonb_each(created);
$$;

-- ---- writing ----

-- The type of a new node for which nobody states one: the one that its resource type is the name of, else
-- its parent's for children (Apache Sling's JCR resource provider).
CREATE FUNCTION repo.type_of_new(parent bigint, name text, properties jsonb) RETURNS text
LANGUAGE plpgsql STABLE AS $$
DECLARE
	type text := (SELECT t.name FROM repo.node_type t
		WHERE t.name = type_of_new.properties -> 'sling:resourceType' ->> 's'
			AND NOT t.abstract AND NOT t.mixin AND t.name <> 'rep:root');
BEGIN
	type := coalesce(type, repo.child_type(parent, name));
	IF type IS NULL THEN
		RAISE EXCEPTION 'no type for the new node "%", and its parent has none for children', name
			USING ERRCODE = 'check_violation';
	END IF;
	RETURN type;
END $$;

-- A new node's properties as they are stored. Given ones that are protected, and who made it and when,
-- are passed over (Apache Sling's JCR resource provider).
CREATE FUNCTION repo.properties_of_new(def repo.node_type, mixins text[], given jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
DECLARE
	result jsonb := given - '{jcr:created,jcr:createdBy}'::text[];
	item   record;
BEGIN
	-- Types are stated beside the properties, where permission is asked for them.
	IF result ?| '{jcr:primaryType,jcr:mixinTypes}' THEN
		RAISE EXCEPTION 'jcr:primaryType and jcr:mixinTypes are not set as properties'
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	FOR item IN SELECT key, value FROM jsonb_each(result) LOOP
		PERFORM repo.name_check(item.key), repo.value_check(item.value);
	END LOOP;
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

CREATE FUNCTION repo.properties_room(path text, properties jsonb) RETURNS void
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	IF octet_length(properties::text) > 131072 THEN
		RAISE EXCEPTION 'properties of more than 128 KiB: "%"', path
			USING ERRCODE = 'program_limit_exceeded';
	END IF;
END $$;

-- A property that the tree has a column for.
CREATE FUNCTION repo.type_text(property text, value jsonb) RETURNS text
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	IF value IS NOT NULL AND (jsonb_typeof(value -> 's') IS DISTINCT FROM 'string'
			OR octet_length(value ->> 's') NOT BETWEEN 1 AND 2048) THEN
		RAISE EXCEPTION '% is one String of 1 to 2048 octets', property
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	RETURN value ->> 's';
END $$;

-- The new node's id, NULL: a node is there and was not touched, whatever its type. primary_type NULL:
-- repo.type_of_new says which. What comes by itself is made; what must be there is repo.node_check's to
-- ask, when the caller is through with the node.
CREATE FUNCTION repo.node_create(path text, primary_type text, mixins text[], properties jsonb)
RETURNS bigint LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
	wanted     CONSTANT text := node_create.path;
	above      CONSTANT text := coalesce(nullif(regexp_replace(wanted, '/[^/]*$', ''), ''), '/');
	child_name CONSTANT text := substring(wanted FROM '[^/]*$');
	type       text := node_create.primary_type;
	parent_id  bigint;
	locked     boolean;
	new_id     bigint;
	def        repo.node_type;
	held       jsonb;
BEGIN
	PERFORM repo.path_check(wanted);
	PERFORM repo.mixin_check(m) FROM unnest(node_create.mixins) m;
	PERFORM repo.structure_lock(false);
	IF EXISTS (SELECT FROM repo.tree t WHERE t.path = wanted) THEN
		RETURN NULL;
	END IF;
	-- The lock that property_set waits for before it adds a property.
	SELECT t.id, EXISTS (SELECT FROM repo.node_type d WHERE d.name = ANY (t.primary_type || t.mixins)
			AND child_name = ANY (d.protected_children) AND NOT d.created_children ? child_name)
		INTO parent_id, locked FROM repo.tree t WHERE t.path = above FOR KEY SHARE;
	IF parent_id IS NULL THEN
		RAISE EXCEPTION 'no parent: "%"', wanted USING ERRCODE = 'foreign_key_violation';
	ELSIF locked THEN
		RAISE EXCEPTION 'child "%" of "%" is protected', child_name, above
			USING ERRCODE = 'check_violation';
	END IF;
	IF EXISTS (SELECT FROM repo.content c WHERE c.id = parent_id AND c.properties ? child_name) THEN
		RAISE EXCEPTION 'a property has this name: "%"', wanted
			USING ERRCODE = 'unique_violation';
	END IF;
	type := coalesce(type, repo.type_of_new(parent_id, child_name, node_create.properties));
	PERFORM repo.node_type_check(type);
	def := repo.definition(type, node_create.mixins);
	held := repo.properties_of_new(def, node_create.mixins, node_create.properties);
	PERFORM repo.properties_room(wanted, held);
	INSERT INTO repo.tree (parent, name, path, position, primary_type, mixins, resource_type,
			super_type)
		SELECT parent_id, child_name, wanted,
			coalesce((SELECT max(s.position) FROM repo.tree s WHERE s.parent = parent_id), 0)
				+ 1048576,
			type, node_create.mixins,
			repo.type_text('sling:resourceType', held -> 'sling:resourceType'),
			repo.type_text('sling:resourceSuperType', held -> 'sling:resourceSuperType')
		ON CONFLICT (path) DO NOTHING RETURNING id INTO new_id;
	IF new_id IS NULL THEN
		RETURN NULL;
	END IF;
	INSERT INTO repo.content (id, properties) VALUES (new_id, held);
	PERFORM repo.journal_write('ADDED', wanted);
	PERFORM repo.node_create(wanted || '/' || key, value, '{}', '{}')
		FROM jsonb_each_text(def.created_children);
	RETURN new_id;
END $$;

-- True: created. False: it exists and was not touched, whatever its type.
CREATE OR REPLACE FUNCTION repo.node_create(path text, primary_type text) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
	PERFORM repo.node_type_check(primary_type);
	RETURN repo.node_create(path, primary_type, '{}', '{}') IS NOT NULL;
END $$;

-- A node's new mixins or new primary type, with what comes by itself; properties that are there already
-- stay as they are. gone: names that go.
CREATE FUNCTION repo.node_retype(node bigint, path text, type text, mixins text[], gone text[])
RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
	def   CONSTANT repo.node_type := repo.definition(type, mixins);
	old   jsonb := (SELECT c.properties FROM repo.content c WHERE c.id = node);
	props jsonb := repo.created_properties(def.created) || (old - gone - 'jcr:mixinTypes');
	new   text[];
	twin  text;
BEGIN
	IF mixins <> '{}' THEN
		props := props || jsonb_build_object('jcr:mixinTypes',
			jsonb_build_object('name', to_jsonb(mixins)));
	END IF;
	new := ARRAY (SELECT k FROM jsonb_object_keys(props) k WHERE NOT old ? k);
	twin := (SELECT min(t.name) FROM repo.tree t WHERE t.parent = node AND t.name = ANY (new));
	IF twin IS NOT NULL THEN
		RAISE EXCEPTION 'a child has the name of a property that comes by itself: "%" of "%"',
			twin, path
			USING ERRCODE = 'unique_violation';
	END IF;
	PERFORM repo.properties_room(path, props);
	UPDATE repo.tree t SET primary_type = type, mixins = mixins WHERE t.id = node;
	UPDATE repo.content c SET properties = props, version = c.version + 1, modified = now()
		WHERE c.id = node;
	PERFORM repo.node_retyped(node);
	PERFORM repo.node_create(rtrim(path, '/') || '/' || key, value, '{}', '{}')
		FROM jsonb_each_text(def.created_children);
END $$;

-- False: it has this type. What the old one protected, and so nobody can remove, goes if the new one has
-- no room for it.
CREATE OR REPLACE FUNCTION repo.node_type_set(path text, primary_type text) RETURNS boolean
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
	node bigint;
	now  repo.tree;
	def  repo.node_type;
	old  repo.node_type;
	new  text[];
	gone text[];
BEGIN
	PERFORM repo.node_type_check(primary_type);
	PERFORM repo.structure_lock(false);
	node := repo.node_lock(path, true);
	SELECT * INTO now FROM repo.tree t WHERE t.id = node;
	IF now.primary_type = primary_type THEN
		RETURN false;
	END IF;
	def := repo.definition(primary_type, now.mixins);
	old := repo.definition(now.primary_type, '{}');
	SELECT ARRAY (SELECT jsonb_object_keys(def.created) EXCEPT SELECT jsonb_object_keys(c.properties)),
		ARRAY (SELECT p.key FROM jsonb_each(c.properties) p
			WHERE p.key = ANY (old.protected) AND p.key <> 'jcr:mixinTypes'
				AND NOT repo.property_fits(def.properties, p.key, p.value))
		INTO new, gone FROM repo.content c WHERE c.id = node;
	PERFORM repo.node_retype(node, path, primary_type, now.mixins, gone);
	PERFORM repo.journal_write('CHANGED', path, '{jcr:primaryType}' || new || gone);
	RETURN true;
END $$;

-- False: it has this mixin.
CREATE OR REPLACE FUNCTION repo.mixin_add(path text, mixin text) RETURNS boolean
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
	node bigint;
	now  repo.tree;
	new  text[];
BEGIN
	PERFORM repo.mixin_check(mixin);
	PERFORM repo.structure_lock(false);
	node := repo.node_lock(path, true);
	SELECT * INTO now FROM repo.tree t WHERE t.id = node;
	IF mixin = ANY (now.mixins) THEN
		RETURN false;
	END IF;
	new := ARRAY (SELECT jsonb_object_keys(d.created) FROM repo.definition(mixin, '{}') d
		EXCEPT SELECT jsonb_object_keys(c.properties) FROM repo.content c WHERE c.id = node);
	PERFORM repo.node_retype(node, path, now.primary_type, now.mixins || mixin, '{}');
	PERFORM repo.journal_write('CHANGED', path, '{jcr:mixinTypes}' || new);
	RETURN true;
END $$;

-- False: it did not have it. Its properties stay where the other types allow them.
CREATE OR REPLACE FUNCTION repo.mixin_remove(path text, mixin text) RETURNS boolean
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
	node bigint;
	now  repo.tree;
	rest text[];
	gone text[];
BEGIN
	PERFORM repo.mixin_check(mixin);
	PERFORM repo.structure_lock(false);
	node := repo.node_lock(path, true);
	SELECT * INTO now FROM repo.tree t WHERE t.id = node;
	IF mixin <> ALL (now.mixins) THEN
		RETURN false;
	END IF;
	rest := array_remove(now.mixins, mixin);
	gone := ARRAY (SELECT p.key FROM repo.content c, repo.definition(now.primary_type, rest) d,
			repo.definition(mixin, '{}') m, jsonb_each(c.properties) p
		WHERE c.id = node AND m.properties ? p.key AND p.key <> 'jcr:mixinTypes'
			AND NOT repo.property_fits(d.properties, p.key, p.value));
	PERFORM repo.node_retype(node, path, now.primary_type, rest, gone);
	PERFORM repo.journal_write('CHANGED', path, '{jcr:mixinTypes}' || gone);
	RETURN true;
END $$;
DROP FUNCTION repo.mixin_properties(text);

-- A property that the node's types protect is not set or removed by itself.
CREATE FUNCTION repo.property_check(node bigint, path text, name text) RETURNS void
LANGUAGE plpgsql STABLE AS $$
BEGIN
	IF name IN ('jcr:primaryType', 'jcr:mixinTypes') THEN
		RAISE EXCEPTION '% is not set as a property', name
			USING ERRCODE = 'invalid_parameter_value';
	ELSIF EXISTS (SELECT FROM repo.tree t
				JOIN repo.node_type d ON d.name = ANY (t.primary_type || t.mixins)
			WHERE t.id = node AND property_check.name = ANY (d.protected)) THEN
		RAISE EXCEPTION 'property "%" of "%" is protected', name, path
			USING ERRCODE = 'check_violation';
	END IF;
END $$;

-- True: written. False: it had that value and type already. The properties of one node take at most
-- 128 KiB, so that one frame carries them.
CREATE OR REPLACE FUNCTION repo.property_set(path text, name text, value jsonb) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
	node  bigint;
	props jsonb;
BEGIN
	PERFORM repo.name_check(name), repo.value_check(value);
	node := repo.node_lock(path, true);
	PERFORM repo.property_check(node, path, name);
	SELECT properties INTO props FROM repo.content WHERE id = node;
	IF props -> name = value THEN
		RETURN false;
	END IF;
	IF NOT props ? name AND EXISTS (SELECT FROM repo.tree t
			WHERE t.parent = node
			AND t.path = rtrim(property_set.path, '/') || '/' || property_set.name) THEN
		RAISE EXCEPTION 'a child has this name: "%" of "%"', name, path
			USING ERRCODE = 'unique_violation';
	END IF;
	props := props || jsonb_build_object(name, value);
	PERFORM repo.properties_room(path, props);
	UPDATE repo.content SET properties = props, version = version + 1, modified = now()
		WHERE id = node;
	PERFORM repo.type_follow(node, name, value);
	PERFORM repo.journal_write('CHANGED', path, ARRAY[name]);
	RETURN true;
END $$;

-- False: there was none.
CREATE OR REPLACE FUNCTION repo.property_remove(path text, name text) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
	node bigint := repo.node_lock(path, false);
BEGIN
	PERFORM repo.property_check(node, path, name);
	UPDATE repo.content SET properties = properties - property_remove.name, version = version + 1,
		modified = now() WHERE id = node AND properties ? property_remove.name;
	IF NOT FOUND THEN
		RETURN false;
	END IF;
	PERFORM repo.type_follow(node, name, NULL);
	PERFORM repo.journal_write('CHANGED', path, ARRAY[name]);
	RETURN true;
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA repo FROM PUBLIC;
