-- 0014_version.sql - versions of nodes: check in, check out, restore, labels (JCR 2.0 chapter 15).
--
-- Locks and time: new tables; functions; a row for each node that is mix:versionable already. Undo: drop
-- the tables version_history, version, version_label, version_node, version_blob and the functions
-- version*, is_versionable, change_version, change_restore, path_prefixes, the trigger on
-- repo.identifier; node_retyped as in 0008, journal_write, commit_lock,
-- subtree_remove, change_try and commit_apply as in 0009, change_do and change_strength as in 0010, blob_sweep as
-- in 0012.
--
-- A history belongs to an identifier (jcr:uuid), so that it outlives its node and goes where the node
-- goes. A version has a copy of what belongs to the node: its properties, and what hangs below it, as the
-- onParentVersion of their definitions says (section 3.13.9). While a node is checked in, nothing of that
-- is changed; repo.journal_write, which every change of content comes to, sees to it, and holds the
-- history's row until the transaction ends, so that no version is made from half a transaction.
--
-- Besides those of 0009 and 0010 a change may be
--    checkin, checkout
--    restore  name: of a label or else of a version; removing: nodes that stand elsewhere and come back
--             with it may be taken away from there
--    label+   name: the label, of: the version's, removing: it may be taken from another version
--    label-   name

CREATE TABLE repo.version_history (
	uuid       text COLLATE "C" PRIMARY KEY,
	node       bigint UNIQUE,           -- may be gone; NULL: it is, or is no longer versionable
	checked_in boolean NOT NULL DEFAULT false,
	base       bigint,                  -- a version; NULL: none was made yet (jcr:rootVersion)
	created    timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE repo.version (
	id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	history     text COLLATE "C" NOT NULL REFERENCES repo.version_history,
	name        text COLLATE "C" NOT NULL CHECK (octet_length(name) <= 255),
	predecessor bigint REFERENCES repo.version, -- NULL: jcr:rootVersion
	created     timestamptz NOT NULL DEFAULT now(),
	created_by  text NOT NULL,
	UNIQUE (history, name)
);
CREATE INDEX version_predecessor ON repo.version (predecessor);

CREATE TABLE repo.version_label (
	history text COLLATE "C" NOT NULL REFERENCES repo.version_history,
	label   text COLLATE "C" NOT NULL,
	version bigint NOT NULL REFERENCES repo.version,
	PRIMARY KEY (history, label)
);

-- A node of a version's copy. below: its path behind that of the versioned node, which has ''.
CREATE TABLE repo.version_node (
	version      bigint NOT NULL REFERENCES repo.version,
	below        text COLLATE "C" NOT NULL,
	history      text COLLATE "C", -- a child with versions of its own: this is all that is known of it
	position     bigint NOT NULL,
	primary_type text NOT NULL,
	mixins       text[] NOT NULL,
	uuid         text COLLATE "C",
	properties   jsonb NOT NULL,
	PRIMARY KEY (version, below)
);

-- What of repo.blob is held by versions.
CREATE TABLE repo.version_blob (
	version bigint NOT NULL REFERENCES repo.version,
	blob    bigint NOT NULL REFERENCES repo.blob,
	PRIMARY KEY (version, blob)
);
CREATE INDEX version_blob_blob ON repo.version_blob (blob);

-- ---- what belongs to a version ----

-- For nodes of these types: the onParentVersion of properties and children by name; what is nearer to
-- the first type goes first.
CREATE FUNCTION repo.version_rules(types text[]) RETURNS jsonb LANGUAGE sql STABLE AS $$
	SELECT jsonb_object_agg(kind, (
		SELECT coalesce(jsonb_object_agg(o.name, o.opv), '{}') FROM (
			SELECT DISTINCT ON (i ->> 'name') i ->> 'name' AS name, i ->> 'opv' AS opv
			FROM unnest(types) WITH ORDINALITY y (type, n)
				JOIN repo.node_type t ON t.name = y.type,
				unnest(t.ancestors) WITH ORDINALITY a (name, m)
				JOIN repo.node_type d ON d.name = a.name,
				jsonb_array_elements(d.declared -> kind) WITH ORDINALITY e (i, k)
			ORDER BY i ->> 'name', y.n, a.m, e.k) o))
	FROM unnest('{properties,children}'::text[]) kind;
$$;

CREATE FUNCTION repo.version_rule(rules jsonb, kind text, name text) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
	SELECT coalesce(rules -> kind ->> name, rules -> kind ->> '*', 'COPY');
$$;

-- Whether what has this rule is copied, and written over by a restore.
CREATE FUNCTION repo.version_keeps(rule text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
	SELECT rule IN ('COPY', 'VERSION', 'ABORT');
$$;

CREATE TYPE repo.version_part AS (
	node    bigint,
	below   text,
	history text, -- a child with versions of its own: what is below it is no part of this one
	rules   jsonb
);

-- The nodes that belong to the version of a node, itself first, level by level.
CREATE FUNCTION repo.version_parts(top bigint) RETURNS SETOF repo.version_part
LANGUAGE plpgsql STABLE AS $$
DECLARE
	level repo.version_part[] := ARRAY[(top, '', NULL, NULL)::repo.version_part];
	total bigint := 0;
	bad   record;
BEGIN
	WHILE level IS NOT NULL LOOP
		total := total + cardinality(level);
		IF total > 10000 THEN
			RAISE EXCEPTION 'more than 10000 nodes in one version'
				USING ERRCODE = 'program_limit_exceeded';
		END IF;
		-- Types are few, and their rules long to find out.
		level := (SELECT array_agg((p.node, p.below, p.history, k.rules)::repo.version_part)
			FROM (SELECT y.types, repo.version_rules(y.types) AS rules
					FROM (SELECT DISTINCT t.primary_type || t.mixins AS types
						FROM unnest(level) p JOIN repo.tree t ON t.id = p.node) y) k
				JOIN repo.tree t ON t.primary_type || t.mixins = k.types
				JOIN unnest(level) p ON p.node = t.id);
		RETURN QUERY SELECT * FROM unnest(level);
		level := (SELECT array_agg((t.id, p.below || '/' || t.name,
				CASE WHEN o.rule = 'VERSION' THEN h.uuid END, NULL)::repo.version_part)
			FROM unnest(level) p JOIN repo.tree t ON t.parent = p.node AND p.history IS NULL
				LEFT JOIN repo.version_history h ON h.node = t.id,
				LATERAL (SELECT repo.version_rule(p.rules, 'children', t.name) AS rule) o
			WHERE repo.version_keeps(o.rule));
	END LOOP;
END $$;

-- "/a/b": "/", "/a", "/a/b".
CREATE FUNCTION repo.path_prefixes(path text) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE path WHEN '/' THEN '{/}' ELSE ARRAY (
		SELECT coalesce(nullif(array_to_string(s[1 : n], '/'), ''), '/')
		FROM string_to_array(path, '/') s, generate_series(1, cardinality(s)) n) END;
$$;

-- ---- while a node is checked in ----

-- Raises if this row of the journal is about something that belongs to the version of a node that is
-- checked in. Of an addition, a removal and an order it is the parent that changes.
CREATE FUNCTION repo.version_guard(kind text, path text, properties text[]) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
	place CONSTANT text := CASE kind WHEN 'CHANGED' THEN path ELSE repo.path_above(path) END;
	item  text := path;
	top   repo.tree;
	types text[];
BEGIN
	IF kind = 'ACL' OR NOT EXISTS (SELECT FROM repo.version_history)
			OR current_setting('boardwalk.versioning', true) = 'on' THEN
		RETURN;
	END IF;
	SELECT t.* INTO top FROM repo.tree t JOIN repo.version_history h ON h.node = t.id
		WHERE t.path = ANY (repo.path_prefixes(place)) ORDER BY octet_length(t.path) DESC LIMIT 1;
	-- Who checks it in waits for us, or we for him.
	PERFORM FROM repo.version_history h WHERE h.node = top.id FOR SHARE;
	IF NOT EXISTS (SELECT FROM repo.version_history h WHERE h.node = top.id AND h.checked_in) THEN
		RETURN;
	END IF;
	types := (SELECT t.primary_type || t.mixins FROM repo.tree t WHERE t.path = place);
	IF kind = 'CHANGED' AND NOT EXISTS (SELECT FROM unnest(properties) p WHERE repo.version_rule(
			repo.version_rules(types), 'properties', p) IN ('COPY', 'VERSION', 'ABORT', 'COMPUTE')) THEN
		RETURN;
	END IF;
	WHILE item <> top.path LOOP
		types := (SELECT t.primary_type || t.mixins FROM repo.tree t WHERE t.path = repo.path_above(item));
		IF NOT repo.version_keeps(repo.version_rule(repo.version_rules(types), 'children',
				repo.path_name(item))) THEN
			RETURN;
		END IF;
		item := repo.path_above(item);
	END LOOP;
	RAISE EXCEPTION '"%" is checked in', top.path USING ERRCODE = 'object_not_in_prerequisite_state';
END $$;

-- As in 0009, for what may be changed.
CREATE OR REPLACE FUNCTION repo.journal_write(kind text, path text, properties text[] DEFAULT '{}',
	from_path text DEFAULT NULL)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM repo.version_guard(kind, path, properties);
	INSERT INTO repo.journal (kind, path, properties, from_path, principal, node, of_file)
		VALUES (kind, path, properties, from_path,
			nullif(current_setting('boardwalk.principal', true), ''),
			nullif(current_setting('boardwalk.node', true), ''),
			right(path, 12) = '/jcr:content' AND EXISTS (SELECT FROM repo.tree t
				WHERE t.path = left(journal_write.path, -12) AND t.primary_type = 'nt:file'));
END $$;

-- ---- histories ----

-- Gives these nodes, all mix:versionable, their histories: new ones, or those that their identifiers
-- had before. Then a node is checked out.
CREATE FUNCTION repo.versions_keep(ids bigint[]) RETURNS void LANGUAGE sql AS $$
	WITH taken AS (
		INSERT INTO repo.version_history AS h (uuid, node)
			SELECT c.properties -> 'jcr:uuid' ->> 's', c.id FROM repo.content c
			WHERE c.id = ANY (ids) AND NOT EXISTS (SELECT FROM repo.version_history k
				WHERE k.node = c.id AND k.uuid = c.properties -> 'jcr:uuid' ->> 's')
			ORDER BY 1
			ON CONFLICT (uuid) DO UPDATE SET node = excluded.node, checked_in = false RETURNING node)
	UPDATE repo.content c SET properties = c.properties || '{"jcr:isCheckedOut": {"b": true}}'
		FROM taken WHERE c.id = taken.node
			AND c.properties -> 'jcr:isCheckedOut' IS DISTINCT FROM '{"b": true}';
$$;

CREATE FUNCTION repo.is_versionable(node bigint) RETURNS boolean LANGUAGE sql STABLE AS $$
	SELECT EXISTS (SELECT FROM repo.tree t JOIN repo.node_type d ON d.name = ANY (t.primary_type || t.mixins)
		WHERE t.id = node AND 'mix:versionable' = ANY (d.ancestors));
$$;

-- repo.node_check enters each referenceable node that is new or has new types.
CREATE FUNCTION repo.version_follow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF repo.is_versionable(NEW.node) THEN
		PERFORM repo.versions_keep(ARRAY[NEW.node]);
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER version_follow AFTER INSERT OR UPDATE ON repo.identifier FOR EACH ROW
	EXECUTE FUNCTION repo.version_follow();

-- As in 0008, for a node that may be changed; one that is no longer versionable has no history, until
-- it is again.
CREATE OR REPLACE FUNCTION repo.node_retyped(node bigint) RETURNS void LANGUAGE sql AS $$
	SELECT repo.version_guard('CHANGED', t.path, '{jcr:mixinTypes}') FROM repo.tree t
		WHERE t.id = node_retyped.node;
	SELECT set_config('boardwalk.retyped',
		ltrim(coalesce(current_setting('boardwalk.retyped', true), '') || ' ' || node), true);
	DELETE FROM repo.identifier i WHERE i.node = node_retyped.node;
	UPDATE repo.version_history h SET node = NULL WHERE h.node = node_retyped.node
		AND NOT repo.is_versionable(h.node);
$$;

-- The history of a node, until the transaction ends.
CREATE FUNCTION repo.version_history_lock(wanted bigint) RETURNS repo.version_history
LANGUAGE plpgsql AS $$
DECLARE
	found repo.version_history;
BEGIN
	SELECT * INTO found FROM repo.version_history h WHERE h.node = wanted FOR NO KEY UPDATE;
	IF found.uuid IS NULL AND repo.is_versionable(wanted) THEN -- since this very transaction
		PERFORM repo.versions_keep(ARRAY[wanted]);
		SELECT * INTO found FROM repo.version_history h WHERE h.node = wanted;
	END IF;
	IF found.uuid IS NULL THEN
		RAISE EXCEPTION 'not mix:versionable' USING ERRCODE = 'invalid_parameter_value';
	END IF;
	RETURN found;
END $$;

-- Of a label, else of a version with this name; NULL: of neither. The root version, with nothing in it,
-- is none.
CREATE FUNCTION repo.version_find(of_history text, wanted text) RETURNS bigint LANGUAGE sql STABLE AS $$
	SELECT coalesce(
		(SELECT l.version FROM repo.version_label l WHERE l.history = of_history AND l.label = wanted),
		(SELECT v.id FROM repo.version v WHERE v.history = of_history AND v.name = wanted));
$$;

-- 1.0, then 1.1, 1.2; behind a version that has a successor already: 1.0.0.
CREATE FUNCTION repo.version_name(h repo.version_history) RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE
	base   text := coalesce((SELECT v.name FROM repo.version v WHERE v.id = h.base), '1.-1');
	part   CONSTANT text[] := regexp_match(base, '^(.*\.)(-?\d+)$');
	wanted text := part[1] || (part[2]::bigint + 1);
BEGIN
	WHILE EXISTS (SELECT FROM repo.version v WHERE v.history = h.uuid AND v.name = wanted) LOOP
		base := base || '.0';
		wanted := base;
	END LOOP;
	RETURN wanted;
END $$;

-- ---- check in, check out ----

CREATE FUNCTION repo.version_freeze(version bigint, top bigint) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
	bad text;
BEGIN
	INSERT INTO repo.version_node
		SELECT version, p.below, p.history, t.position, t.primary_type, t.mixins,
			c.properties -> 'jcr:uuid' ->> 's',
			CASE WHEN p.history IS NULL THEN (SELECT coalesce(jsonb_object_agg(e.key, e.value), '{}')
				FROM jsonb_each(c.properties) e
				WHERE repo.version_keeps(repo.version_rule(p.rules, 'properties', e.key))) ELSE '{}' END
		FROM repo.version_parts(top) p JOIN repo.tree t ON t.id = p.node JOIN repo.content c ON c.id = p.node;
	SELECT p.below || '/' || i.name INTO bad FROM repo.version_parts(top) p, LATERAL (
			SELECT k.name, 'children' AS kind FROM repo.tree k WHERE k.parent = p.node
			UNION ALL SELECT n, 'properties' FROM repo.content c, jsonb_object_keys(c.properties) n
				WHERE c.id = p.node) i
		WHERE p.history IS NULL AND repo.version_rule(p.rules, i.kind, i.name) = 'ABORT' LIMIT 1;
	IF bad IS NOT NULL THEN
		RAISE EXCEPTION 'no version is made with "%" in it', substr(bad, 2)
			USING ERRCODE = 'check_violation';
	END IF;
	INSERT INTO repo.version_blob
		SELECT DISTINCT version, b FROM repo.version_node z, unnest(repo.blob_ids(z.properties)) b
		WHERE z.version = version_freeze.version AND z.properties @? '$.*.bin';
END $$;

-- The state, and the property that says so.
CREATE FUNCTION repo.version_state(h repo.version_history, path text, in_version boolean) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
	UPDATE repo.version_history k SET checked_in = in_version, base = h.base WHERE k.uuid = h.uuid;
	UPDATE repo.content c SET version = c.version + 1, modified = now(), properties = c.properties
			|| jsonb_build_object('jcr:isCheckedOut', jsonb_build_object('b', NOT in_version))
		WHERE c.id = h.node;
	PERFORM repo.journal_write('CHANGED', path, '{jcr:isCheckedOut}');
END $$;

CREATE FUNCTION repo.version_checkin(h repo.version_history, path text) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
	made bigint;
BEGIN
	IF h.checked_in THEN
		RETURN false;
	END IF;
	INSERT INTO repo.version (history, name, predecessor, created_by)
		VALUES (h.uuid, repo.version_name(h), h.base,
			coalesce(nullif(current_setting('boardwalk.principal', true), ''), 'admin'))
		RETURNING id INTO made;
	PERFORM repo.version_freeze(made, h.node);
	h.base := made;
	PERFORM repo.version_state(h, path, true);
	RETURN true;
END $$;

-- ---- restore ----
-- A node of the version that has its place now stays the node that it is, with its list of entries.

CREATE FUNCTION repo.version_properties(z repo.version_node) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
	SELECT z.properties
		|| CASE z.mixins WHEN '{}' THEN '{}' ELSE jsonb_build_object('jcr:mixinTypes',
			jsonb_build_object('name', to_jsonb(z.mixins))) END
		|| CASE WHEN z.uuid IS NULL THEN '{}' ELSE jsonb_build_object('jcr:uuid',
			jsonb_build_object('s', z.uuid)) END;
$$;

CREATE FUNCTION repo.version_node_make(z repo.version_node, path text) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
	above  CONSTANT bigint := (SELECT t.id FROM repo.tree t WHERE t.path = repo.path_above($2));
	props  CONSTANT jsonb := repo.created_properties((repo.definition(z.primary_type, z.mixins)).created)
		|| repo.version_properties(z);
	new_id bigint;
BEGIN
	PERFORM repo.path_check(path), repo.child_name_check(above, path);
	INSERT INTO repo.tree (parent, name, path, position, primary_type, mixins, resource_type, super_type)
		VALUES (above, repo.path_name(path), path, z.position, z.primary_type, z.mixins,
			props -> 'sling:resourceType' ->> 's', props -> 'sling:resourceSuperType' ->> 's')
		RETURNING id INTO new_id;
	INSERT INTO repo.content (id, properties) VALUES (new_id, props);
	PERFORM repo.journal_write('ADDED', path);
	RETURN new_id;
END $$;

-- t: the node in its place; state: what it is to have besides.
CREATE FUNCTION repo.version_node_put(z repo.version_node, t repo.tree, state jsonb) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
	rules CONSTANT jsonb := repo.version_rules(t.primary_type || t.mixins);
	old   CONSTANT jsonb := (SELECT c.properties FROM repo.content c WHERE c.id = t.id);
	new   CONSTANT jsonb := (SELECT coalesce(jsonb_object_agg(e.key, e.value), '{}') FROM jsonb_each(old) e
			WHERE e.key <> 'jcr:mixinTypes'
				AND NOT repo.version_keeps(repo.version_rule(rules, 'properties', e.key)))
		|| repo.version_properties(z) || state;
	names text[] := ARRAY (SELECT k FROM (SELECT jsonb_object_keys(old) UNION
			SELECT jsonb_object_keys(new)) n (k) WHERE old -> k IS DISTINCT FROM new -> k);
	twin  CONSTANT text := (SELECT min(k.name) FROM repo.tree k WHERE k.parent = t.id
			AND NOT old ? k.name AND new ? k.name);
BEGIN
	IF twin IS NOT NULL THEN
		RAISE EXCEPTION 'a child has the name of a property of the version: "%"', twin
			USING ERRCODE = 'unique_violation';
	END IF;
	IF t.primary_type <> z.primary_type THEN
		names := names || '{jcr:primaryType}';
	END IF;
	IF names = '{}' THEN
		RETURN;
	END IF;
	UPDATE repo.tree k SET primary_type = z.primary_type, mixins = z.mixins,
			resource_type = new -> 'sling:resourceType' ->> 's',
			super_type = new -> 'sling:resourceSuperType' ->> 's'
		WHERE k.id = t.id;
	UPDATE repo.content c SET properties = new, version = c.version + 1, modified = now()
		WHERE c.id = t.id;
	IF names && '{jcr:primaryType,jcr:mixinTypes}' THEN -- node_check looks at its children
		PERFORM set_config('boardwalk.retyped',
			ltrim(coalesce(current_setting('boardwalk.retyped', true), '') || ' ' || t.id), true);
	END IF;
	PERFORM repo.journal_write('CHANGED', t.path, names);
END $$;

CREATE FUNCTION repo.version_place(node bigint, path text, wanted bigint) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
	UPDATE repo.tree t SET position = wanted WHERE t.id = node AND t.position <> wanted;
	IF FOUND THEN
		PERFORM repo.journal_write('ORDERED', path);
	END IF;
END $$;

-- A fact about a node that stands elsewhere and is in the way of a version, which is at place.
CREATE FUNCTION repo.version_displaced(other repo.tree, place text, removing boolean)
RETURNS repo.change_fact LANGUAGE plpgsql AS $$
DECLARE
	f repo.change_fact;
BEGIN
	f.outcome := 'exists';
	IF removing AND NOT starts_with(rtrim(place, '/') || '/', rtrim(other.path, '/') || '/') THEN
		f.outcome := 'displaced';
		f.node := other.id;
		f.node_type := other.primary_type;
		f.above := other.parent;
		f.parent_type := (SELECT t.primary_type FROM repo.tree t WHERE t.id = other.parent);
		f.detail := other.path;
		PERFORM set_config('boardwalk.versioning', 'off', true);
		PERFORM repo.version_guard('REMOVED', other.path, '{}');
		PERFORM set_config('boardwalk.versioning', 'on', true);
	END IF;
	RETURN f;
END $$;

-- A node becomes what it was in a version. Facts: restored (a node that was written), displaced (a node
-- that stood elsewhere, detail its path, was taken away), exists (such a node may not be; the last
-- fact). boardwalk.versioning is on. Calls itself for children that have versions of their own and are
-- gone; paths have an end.
CREATE FUNCTION repo.version_restore(top bigint, wanted bigint, removing boolean)
RETURNS SETOF repo.change_fact LANGUAGE plpgsql AS $$
DECLARE
	place CONSTANT text := (SELECT t.path FROM repo.tree t WHERE t.id = top);
	root  CONSTANT text := rtrim(place, '/');
	parts CONSTANT repo.version_part[] := ARRAY (SELECT p FROM repo.version_parts(top) p);
	part  record;
	other repo.tree;
	h     repo.version_history;
	z     repo.version_node;
	f     repo.change_fact;
	state CONSTANT jsonb := '{"jcr:isCheckedOut": {"b": false}}';
BEGIN
	-- What the version does not have; what is below goes with it.
	FOR part IN SELECT root || p.below AS path FROM unnest(parts) p
			LEFT JOIN repo.version_node k ON k.version = wanted AND k.below = p.below
			WHERE p.below <> '' AND (k.version IS NULL OR k.history IS DISTINCT FROM p.history)
			ORDER BY p.below COLLATE "C" LOOP
		IF EXISTS (SELECT FROM repo.tree t WHERE t.path = part.path) THEN
			PERFORM repo.subtree_check(part.path, part.path), repo.subtree_remove(part.path);
		END IF;
	END LOOP;
	-- Identifiers may change places; repo.node_check enters them again.
	DELETE FROM repo.identifier i USING unnest(parts) p WHERE i.node = p.node AND p.history IS NULL;
	UPDATE repo.version_history k SET node = NULL FROM unnest(parts) p
		WHERE k.node = p.node AND p.history IS NULL AND p.node <> top;
	FOR other IN SELECT t.* FROM repo.version_node k JOIN repo.identifier i ON i.uuid = k.uuid
			JOIN repo.tree t ON t.id = i.node
			WHERE k.version = wanted AND k.below <> '' AND k.history IS NULL ORDER BY t.path LOOP
		f := repo.version_displaced(other, place, removing);
		RETURN NEXT f;
		IF f.outcome = 'exists' THEN
			RETURN;
		END IF;
		PERFORM repo.subtree_check(other.path, other.path), repo.subtree_remove(other.path);
	END LOOP;
	-- All that the version has itself, parents first.
	FOR z IN SELECT * FROM repo.version_node k WHERE k.version = wanted AND k.history IS NULL
			ORDER BY string_to_array(k.below, '/') LOOP
		SELECT * INTO other FROM repo.tree t
			WHERE t.path = CASE z.below WHEN '' THEN place ELSE root || z.below END;
		f := NULL;
		f.outcome := 'restored';
		f.node := coalesce(other.id, repo.version_node_make(z, root || z.below));
		IF other.id IS NOT NULL THEN
			PERFORM repo.version_node_put(z, other, CASE z.below WHEN '' THEN state ELSE '{}' END);
		END IF;
		IF z.below <> '' THEN
			PERFORM repo.version_place(f.node, root || z.below, z.position);
		END IF;
		RETURN NEXT f;
	END LOOP;
	-- Children with versions of their own stay as they are; one that is elsewhere comes, one that is
	-- gone comes back as its last version.
	FOR z IN SELECT k.* FROM repo.version_node k WHERE k.version = wanted AND k.history IS NOT NULL
			ORDER BY k.below LOOP
		SELECT * INTO h FROM repo.version_history k WHERE k.uuid = z.history FOR NO KEY UPDATE;
		SELECT * INTO other FROM repo.tree t WHERE t.id = h.node;
		CONTINUE WHEN other.id IS NULL AND h.base IS NULL;
		IF other.id IS NULL THEN
			SELECT * INTO z FROM repo.version_node k WHERE k.version = h.base AND k.below = '';
			SELECT k.below, k.position INTO z.below, z.position FROM repo.version_node k
				WHERE k.version = wanted AND k.history = h.uuid;
			other.id := repo.version_node_make(z, root || z.below);
			UPDATE repo.version_history k SET node = other.id, checked_in = true WHERE k.uuid = h.uuid;
			RETURN QUERY SELECT * FROM repo.version_restore(other.id, h.base, removing);
		ELSIF other.path <> root || z.below THEN
			f := repo.version_displaced(other, place, removing);
			RETURN NEXT f;
			IF f.outcome = 'exists' THEN
				RETURN;
			END IF;
			SELECT t.id INTO f.parent FROM repo.tree t WHERE t.path = repo.path_above(root || z.below);
			PERFORM repo.target_check(other.path, root || z.below, f.parent),
				repo.subtree_move(other.id, other.path, root || z.below, f.parent);
		END IF;
		f := NULL;
		f.outcome := 'restored';
		f.node := other.id;
		RETURN NEXT f;
		PERFORM repo.version_place(other.id, root || z.below, z.position);
	END LOOP;
	UPDATE repo.version_history k SET checked_in = true, base = wanted WHERE k.node = top;
END $$;

-- ---- labels ----

-- Outcomes as of changes.
CREATE FUNCTION repo.version_label_add(h repo.version_history, wanted text, name text, moving boolean)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	target CONSTANT bigint := (SELECT v.id FROM repo.version v WHERE v.history = h.uuid
		AND v.name = version_label_add.name);
	now_at CONSTANT bigint := (SELECT l.version FROM repo.version_label l WHERE l.history = h.uuid
		AND l.label = wanted);
BEGIN
	PERFORM repo.name_check(wanted);
	IF target IS NULL OR target = now_at THEN
		RETURN CASE WHEN target IS NULL THEN 'no_version' ELSE 'same' END;
	ELSIF now_at IS NOT NULL AND NOT moving THEN
		RETURN 'exists';
	ELSIF now_at IS NULL AND (SELECT count(*) FROM repo.version_label l WHERE l.history = h.uuid) >= 256 THEN
		RAISE EXCEPTION 'more than 256 labels' USING ERRCODE = 'program_limit_exceeded';
	END IF;
	INSERT INTO repo.version_label AS l VALUES (h.uuid, wanted, target)
		ON CONFLICT (history, label) DO UPDATE SET version = excluded.version;
	RETURN 'done';
END $$;

CREATE FUNCTION repo.version_label_remove(h repo.version_history, wanted text) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
	DELETE FROM repo.version_label l WHERE l.history = h.uuid AND l.label = wanted;
	RETURN CASE WHEN FOUND THEN 'done' ELSE 'no_version' END;
END $$;

-- ---- as changes of a commit ----

-- As in 0010. What is said about versions is in nobody's way who changes something else.
CREATE OR REPLACE FUNCTION repo.change_strength(c jsonb) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE
		WHEN c ->> 'kind' = 'copy' THEN 1
		WHEN c ->> 'kind' IN ('order', 'unset', 'ace+', 'ace-', 'acl-', 'checkin', 'checkout', 'label+',
			'label-') OR jsonb_typeof(c -> 'base') = 'object' THEN 2
		ELSE 3 END;
$$;

-- A restore is begun here; repo.commit_apply goes on with repo.version_restore.
CREATE FUNCTION repo.change_version(c jsonb, f repo.change_fact) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	h CONSTANT repo.version_history := repo.version_history_lock(f.node);
BEGIN
	CASE c ->> 'kind'
	WHEN 'checkin' THEN
		RETURN CASE WHEN repo.version_checkin(h, c ->> 'path') THEN 'done' ELSE 'same' END;
	WHEN 'checkout' THEN
		IF NOT h.checked_in THEN
			RETURN 'same';
		END IF;
		PERFORM repo.version_state(h, c ->> 'path', false);
		RETURN 'done';
	WHEN 'restore' THEN
		RETURN CASE WHEN repo.version_find(h.uuid, c ->> 'name') IS NULL THEN 'no_version'
			ELSE 'done' END;
	WHEN 'label+' THEN
		RETURN repo.version_label_add(h, c ->> 'name', c ->> 'of', (c ->> 'removing')::boolean);
	ELSE
		RETURN repo.version_label_remove(h, c ->> 'name');
	END CASE;
END $$;

-- As in 0010, with versions.
CREATE OR REPLACE FUNCTION repo.change_do(c jsonb, f repo.change_fact) RETURNS repo.change_fact
LANGUAGE plpgsql AS $$
BEGIN
	CASE c ->> 'kind'
	WHEN 'create' THEN f := repo.change_create(c, f);
	WHEN 'remove' THEN f := repo.change_remove(c, f);
	WHEN 'move' THEN f := repo.change_move(c, f);
	WHEN 'copy' THEN f := repo.change_copy(c, f);
		IF f.outcome = 'done' THEN
			PERFORM repo.version_guard('ADDED', c ->> 'name', '{}');
		END IF;
	WHEN 'order' THEN f := repo.change_order(c, f);
	WHEN 'set' THEN f := repo.change_set(c, f);
	WHEN 'unset' THEN f := repo.change_unset(c, f);
	WHEN 'type' THEN f := repo.change_type(c, f);
	WHEN 'mixin+' THEN
		f.outcome := CASE WHEN repo.mixin_add(c ->> 'path', c ->> 'name') THEN 'done' ELSE 'same' END;
	WHEN 'mixin-' THEN
		f.outcome := CASE WHEN repo.mixin_remove(c ->> 'path', c ->> 'name') THEN 'done' ELSE 'same' END;
	WHEN 'checkin', 'checkout', 'restore', 'label+', 'label-' THEN
		f.outcome := repo.change_version(c, f);
	ELSE
		f.outcome := CASE WHEN repo.change_list(c) THEN 'done' ELSE 'same' END;
	END CASE;
	RETURN f;
END $$;

-- As in 0009; a restore removes subtrees as well.
CREATE OR REPLACE FUNCTION repo.commit_lock(changes jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	several CONSTANT boolean := jsonb_array_length(changes) > 1;
	kinds   CONSTANT text[] := CASE WHEN several
		THEN ARRAY (SELECT DISTINCT c ->> 'kind' FROM jsonb_array_elements(changes) c)
		ELSE ARRAY[changes -> 0 ->> 'kind'] END;
	-- Something with children, or with children from this commit, or that comes by it.
	subtree CONSTANT boolean := kinds && '{remove,move}' AND (EXISTS (SELECT FROM jsonb_array_elements(changes) c
			LEFT JOIN repo.tree t ON t.path = c ->> 'path' LEFT JOIN repo.tree k ON k.parent = t.id
			WHERE c ->> 'kind' IN ('remove', 'move') AND (t.id IS NULL OR k.id IS NOT NULL))
		OR EXISTS (SELECT FROM jsonb_array_elements(changes) c JOIN jsonb_array_elements(changes) d
			ON repo.path_above(repo.change_target(d)) = c ->> 'path'
			WHERE c ->> 'kind' IN ('remove', 'move')))
		OR 'restore' = ANY (kinds);
	row record;
BEGIN
	IF NOT kinds <@ '{order,set,unset}' THEN
		PERFORM repo.structure_lock(subtree);
	END IF;
	PERFORM set_config('boardwalk.exclusive', subtree::text, true);
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

-- As in 0009. Histories of nodes that go are checked in no more: an identifier that comes back with
-- another node finds it so.
CREATE OR REPLACE FUNCTION repo.subtree_remove(wanted text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	IF EXISTS (SELECT FROM repo.version_history) THEN
		UPDATE repo.version_history h SET node = NULL, checked_in = false FROM repo.tree t
			WHERE h.node = t.id
				AND (t.path = wanted OR (t.path > wanted || '/' AND t.path < wanted || '0'));
	END IF;
	DELETE FROM repo.tree t
		WHERE t.path = wanted OR (t.path > wanted || '/' AND t.path < wanted || '0');
	IF NOT FOUND THEN
		RETURN false;
	END IF;
	PERFORM repo.journal_write('REMOVED', wanted);
	RETURN true;
END $$;

-- As in 0009, with what is checked in.
CREATE OR REPLACE FUNCTION repo.change_try(c jsonb, f repo.change_fact) RETURNS repo.change_fact
LANGUAGE plpgsql AS $$
DECLARE
	broken text;
BEGIN
	RETURN repo.change_do(c, f);
EXCEPTION WHEN data_exception OR integrity_constraint_violation OR invalid_name
		OR program_limit_exceeded OR no_data_found OR feature_not_supported
		OR object_not_in_prerequisite_state THEN
	GET STACKED DIAGNOSTICS broken = CONSTRAINT_NAME;
	IF broken = 'tree_path_key' THEN
		RAISE EXCEPTION 'somebody else has made it meanwhile' USING ERRCODE = 'serialization_failure';
	END IF;
	f.outcome := CASE WHEN SQLSTATE LIKE '54%' THEN 'too_big' WHEN SQLSTATE = '55000' THEN 'checked_in'
		ELSE 'refused' END;
	f.detail := SQLERRM;
	RETURN f;
END $$;

-- The facts of a restore that repo.change_version has let begin; the last one is refused, too_big or
-- checked_in where repo.change_try says so.
CREATE FUNCTION repo.change_restore(c jsonb, f repo.change_fact) RETURNS SETOF repo.change_fact
LANGUAGE plpgsql AS $$
DECLARE
	more repo.change_fact;
	h    CONSTANT repo.version_history := repo.version_history_lock(f.node);
BEGIN
	PERFORM set_config('boardwalk.versioning', 'on', true);
	FOR more IN SELECT * FROM repo.version_restore(f.node, repo.version_find(h.uuid, c ->> 'name'),
			(c ->> 'removing')::boolean) LOOP
		more.n := f.n;
		RETURN NEXT more;
	END LOOP;
	PERFORM set_config('boardwalk.versioning', 'off', true);
EXCEPTION WHEN data_exception OR integrity_constraint_violation OR invalid_name
		OR program_limit_exceeded OR no_data_found OR object_not_in_prerequisite_state THEN
	f.outcome := CASE WHEN SQLSTATE LIKE '54%' THEN 'too_big' WHEN SQLSTATE = '55000' THEN 'checked_in'
		ELSE 'refused' END;
	f.detail := SQLERRM;
	RETURN NEXT f;
END $$;

-- As in 0009, with the outcomes no_version (there is none of that name), checked_in (a version is in
-- the way, in detail), and behind a restore what stood elsewhere: displaced, detail its path.
CREATE OR REPLACE FUNCTION repo.commit_apply(changes jsonb, who bigint, node text, careful boolean DEFAULT true)
RETURNS SETOF repo.change_fact
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	touched bigint[] := '{}';
	f       repo.change_fact;
	more    repo.change_fact;
	c       jsonb;
	i       integer := 0;
BEGIN
	PERFORM repo.commit_speaker(who), set_config('boardwalk.node', node, true);
	PERFORM repo.commit_lock(changes);
	f.n := 0;
	f.node := (SELECT g.acl FROM repo.generation g);
	RETURN NEXT f;
	FOR c IN SELECT jsonb_array_elements(changes) LOOP
		i := i + 1;
		f := repo.change_look(i, c);
		IF f.outcome IS NULL THEN
			f := CASE WHEN careful THEN repo.change_try(c, f) ELSE repo.change_do(c, f) END;
		END IF;
		RETURN NEXT f;
		EXIT WHEN f.outcome NOT IN ('done', 'same', 'spread');
		CONTINUE WHEN f.outcome = 'same' OR c ->> 'kind' = 'order';
		IF c ->> 'kind' = 'copy' THEN
			FOR more IN SELECT i, 'copied', s.copy, s.node_type, NULL, NULL, NULL, NULL,
					s.original, s.names
					FROM repo.subtree_copy(c ->> 'path', c ->> 'name', f.parent) s LOOP
				touched := touched || more.node;
				RETURN NEXT more;
			END LOOP;
			CONTINUE;
		END IF;
		IF c ->> 'kind' = 'restore' THEN
			FOR more IN SELECT * FROM repo.change_restore(c, f) LOOP
				touched := touched || more.node || more.above;
				CONTINUE WHEN more.outcome = 'restored';
				RETURN NEXT more;
			END LOOP;
			EXIT WHEN more.outcome NOT IN ('restored', 'displaced');
		END IF;
		touched := touched || f.node;
		IF c ->> 'kind' IN ('remove', 'move') THEN
			touched := touched || f.above; -- something may be missing there now
		END IF;
	END LOOP;
	PERFORM set_config('boardwalk.touched', array_remove(touched, NULL)::text, true);
END $$;

-- ---- reading ----
-- Whether who asks may read is judged outside, by what comes with the answers.

-- The versions of a node in the order in which they were made, at most so many, behind the one of that
-- name (NULL: from the first); none: not versionable.
CREATE FUNCTION repo.version_list(of_node bigint, behind text, most integer)
RETURNS TABLE (name text, properties jsonb) LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
	SELECT v.name, jsonb_build_object(
			'jcr:created', jsonb_build_object('date',
				to_char(v.created AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')),
			'jcr:createdBy', jsonb_build_object('s', v.created_by),
			'jcr:predecessors', jsonb_build_object('name',
				CASE WHEN v.id = 0 THEN '[]' ELSE jsonb_build_array(coalesce((
					SELECT p.name FROM repo.version p WHERE p.id = v.predecessor),
					'jcr:rootVersion')) END),
			'jcr:successors', jsonb_build_object('name', (
				SELECT coalesce(jsonb_agg(s.name ORDER BY s.id), '[]') FROM repo.version s
				WHERE s.history = h.uuid AND coalesce(s.predecessor, 0) = v.id)),
			'labels', jsonb_build_object('s', (
				SELECT coalesce(jsonb_agg(l.label ORDER BY l.label), '[]')
				FROM repo.version_label l WHERE l.history = h.uuid AND l.version = v.id)),
			'base', jsonb_build_object('b', coalesce(h.base, 0) = v.id))
		FROM repo.version_history h CROSS JOIN LATERAL (
			SELECT 0 AS id, 'jcr:rootVersion' AS name, h.created, '' AS created_by,
				NULL::bigint AS predecessor
			UNION ALL SELECT x.id, x.name, x.created, x.created_by, x.predecessor
				FROM repo.version x WHERE x.history = h.uuid) v
		WHERE h.node = of_node AND v.id > CASE
			WHEN behind IS NULL THEN -1
			WHEN behind = 'jcr:rootVersion' THEN 0
			ELSE (SELECT b.id FROM repo.version b
				WHERE b.history = h.uuid AND b.name = behind) END
		ORDER BY v.id LIMIT most;
$$;

-- The node as it was in a version, by label or name; no row: there is none.
CREATE FUNCTION repo.version_frozen(of_node bigint, wanted text)
RETURNS TABLE (primary_type text, properties jsonb) LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
	SELECT z.primary_type, repo.version_properties(z)
		FROM repo.version_history h JOIN repo.version_node z
			ON z.version = repo.version_find(h.uuid, wanted) AND z.below = ''
		WHERE h.node = of_node;
$$;

-- As in 0012; versions hold blobs too.
CREATE OR REPLACE FUNCTION repo.blob_sweep(most integer) RETURNS integer LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	one  bigint;
	gone integer := 0;
BEGIN
	DELETE FROM repo.blob_upload WHERE id IN (SELECT id FROM repo.blob_upload
		WHERE touched < now() - interval '1 hour' LIMIT most FOR UPDATE SKIP LOCKED);
	FOR one IN SELECT b.id FROM repo.blob b WHERE b.unused < now() - interval '1 hour'
			AND NOT EXISTS (SELECT FROM repo.blob_upload u WHERE u.blob = b.id)
			ORDER BY b.unused LIMIT most FOR UPDATE SKIP LOCKED LOOP
		IF EXISTS (SELECT FROM repo.blob_use u WHERE u.blob = one)
				OR EXISTS (SELECT FROM repo.version_blob v WHERE v.blob = one) THEN
			UPDATE repo.blob SET unused = NULL WHERE id = one;
		ELSE
			DELETE FROM repo.blob WHERE id = one;
			gone := gone + 1;
		END IF;
	END LOOP;
	RETURN gone;
END $$;

-- Nodes from before have all been checked out.
SELECT repo.versions_keep(ARRAY (SELECT t.id FROM repo.tree t JOIN repo.content c ON c.id = t.id
	WHERE c.properties ? 'jcr:uuid' AND EXISTS (SELECT FROM repo.node_type d
		WHERE d.name = ANY (t.primary_type || t.mixins) AND 'mix:versionable' = ANY (d.ancestors))));

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA repo FROM PUBLIC;
GRANT EXECUTE ON FUNCTION repo.version_list(bigint, text, integer), repo.version_frozen(bigint, text)
	TO boardwalk_repo;
