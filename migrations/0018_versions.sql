-- 0018_versions.sql - versions of nodes: what a node says of its history, parts of a version, their end.
--
-- Locks and time: rewrites the tables version_history and version; a row for each versionable node. Undo:
-- drop the columns identifier and root, the trigger on version_blob and the functions version_facts and
-- version_remove; versions_keep, version_state, version_node_put, version_find, version_frozen,
-- change_strength, change_version and change_do as in 0014, mix:versionable and node_types_register as in
-- 0008.
--
-- A versionable node has jcr:versionHistory, jcr:baseVersion and jcr:predecessors (JCR 2.0 section
-- 3.13.2): References to what is no node here but has an identifier. Where a version is asked for, its
-- identifier is taken as well as a label or its name.
--
-- Another change of a commit:
--    version-  name: the version's, which goes; not the one that the node is based on

ALTER TABLE repo.version_history
	ADD COLUMN identifier uuid NOT NULL DEFAULT gen_random_uuid(),
	ADD COLUMN root uuid NOT NULL DEFAULT gen_random_uuid(); -- jcr:rootVersion's
ALTER TABLE repo.version ADD COLUMN identifier uuid NOT NULL DEFAULT gen_random_uuid();

-- Nobody writes these but the functions here; they are no part of a version. They come when the node's
-- identifier is entered, after its types have been checked: so none of them is mandatory.
UPDATE repo.node_type t SET declared = t.declared || jsonb_build_object('properties', (
		SELECT jsonb_agg(jsonb_build_object('name', name, 'type', 'ref', 'multiple',
			name = 'jcr:predecessors', 'mandatory', false, 'auto', false, 'protected', true,
			'default', '[]'::jsonb, 'constraints', '[]'::jsonb, 'opv', 'IGNORE'))
		FROM unnest('{jcr:versionHistory,jcr:baseVersion,jcr:predecessors}'::text[]) name))
	WHERE t.name = 'mix:versionable';
SELECT repo.node_types_build(ARRAY (SELECT t.name FROM repo.node_type t
	WHERE 'mix:versionable' = ANY (t.ancestors)));

-- As in 0008, but that of several errors it is always the same one that is told: the table's order on
-- disk is not that of its names any more.
CREATE OR REPLACE FUNCTION repo.node_types_register(declared jsonb, builtin boolean DEFAULT false) RETURNS text[]
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
	PERFORM repo.node_type_references_check(t)
		FROM (SELECT k FROM repo.node_type k WHERE k.name = ANY (affected) ORDER BY k.name) o (t);
	IF new <> changed THEN
		PERFORM repo.node_types_check_content(affected);
	END IF;
	RETURN changed;
END $$;

-- ---- what a node says of its history ----

CREATE FUNCTION repo.version_facts(h repo.version_history) RETURNS jsonb LANGUAGE sql STABLE AS $$
	SELECT jsonb_build_object(
			'jcr:isCheckedOut', jsonb_build_object('b', NOT h.checked_in),
			'jcr:versionHistory', jsonb_build_object('ref', h.identifier),
			'jcr:baseVersion', jsonb_build_object('ref', b.identifier),
			'jcr:predecessors', jsonb_build_object('ref', CASE WHEN h.checked_in THEN '[]'
				ELSE jsonb_build_array(b.identifier) END))
		FROM (SELECT coalesce((SELECT v.identifier FROM repo.version v WHERE v.id = h.base),
			h.root) AS identifier) b;
$$;

-- As in 0014, with what a node says of its history.
CREATE OR REPLACE FUNCTION repo.versions_keep(ids bigint[]) RETURNS void LANGUAGE sql AS $$
	WITH taken AS (
		INSERT INTO repo.version_history AS h (uuid, node)
			SELECT c.properties -> 'jcr:uuid' ->> 's', c.id FROM repo.content c
			WHERE c.id = ANY (ids) AND NOT EXISTS (SELECT FROM repo.version_history k
				WHERE k.node = c.id AND k.uuid = c.properties -> 'jcr:uuid' ->> 's')
			ORDER BY 1
			ON CONFLICT (uuid) DO UPDATE SET node = excluded.node, checked_in = false
			RETURNING h AS history)
	UPDATE repo.content c SET properties = c.properties || repo.version_facts(history)
		FROM taken WHERE c.id = (history).node
			AND NOT c.properties @> repo.version_facts(history);
$$;

-- As in 0014, with all that changes with the state.
CREATE OR REPLACE FUNCTION repo.version_state(h repo.version_history, path text, in_version boolean)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	k     repo.version_history;
	old   CONSTANT jsonb := (SELECT c.properties FROM repo.content c WHERE c.id = h.node);
	facts jsonb;
BEGIN
	UPDATE repo.version_history t SET checked_in = in_version, base = h.base WHERE t.uuid = h.uuid
		RETURNING * INTO k;
	facts := repo.version_facts(k);
	UPDATE repo.content c SET version = c.version + 1, modified = now(), properties = old || facts
		WHERE c.id = h.node;
	PERFORM repo.journal_write('CHANGED', path, ARRAY (SELECT f.key FROM jsonb_each(facts) f
		WHERE old -> f.key IS DISTINCT FROM f.value ORDER BY f.key));
END $$;

-- As in 0014. state is not empty for the node that is restored, which is based on the version then.
CREATE OR REPLACE FUNCTION repo.version_node_put(z repo.version_node, t repo.tree, state jsonb)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	rules CONSTANT jsonb := repo.version_rules(t.primary_type || t.mixins);
	old   CONSTANT jsonb := (SELECT c.properties FROM repo.content c WHERE c.id = t.id);
	h     repo.version_history;
	new   jsonb := (SELECT coalesce(jsonb_object_agg(e.key, e.value), '{}') FROM jsonb_each(old) e
			WHERE e.key <> 'jcr:mixinTypes'
				AND NOT repo.version_keeps(repo.version_rule(rules, 'properties', e.key)))
		|| repo.version_properties(z);
	names text[];
	twin  text;
BEGIN
	IF state <> '{}' THEN
		SELECT * INTO h FROM repo.version_history k WHERE k.node = t.id;
		h.checked_in := true;
		h.base := z.version;
		new := new || repo.version_facts(h);
	END IF;
	names := ARRAY (SELECT k FROM (SELECT jsonb_object_keys(old) UNION
		SELECT jsonb_object_keys(new)) n (k) WHERE old -> k IS DISTINCT FROM new -> k);
	twin := (SELECT min(k.name) FROM repo.tree k WHERE k.parent = t.id
		AND NOT old ? k.name AND new ? k.name);
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

-- ---- finding a version, and a part of it ----

-- As in 0014, by identifier as well.
CREATE OR REPLACE FUNCTION repo.version_find(of_history text, wanted text) RETURNS bigint
LANGUAGE sql STABLE AS $$
	SELECT coalesce(
		(SELECT l.version FROM repo.version_label l WHERE l.history = of_history AND l.label = wanted),
		(SELECT v.id FROM repo.version v WHERE v.history = of_history AND v.name = wanted),
		(SELECT v.id FROM repo.version v WHERE v.history = of_history AND v.identifier::text = wanted));
$$;

-- As in 0014, or what was at part below the node (NULL: the node). A child with versions of its own is
-- in those.
DROP FUNCTION repo.version_frozen(bigint, text);
CREATE FUNCTION repo.version_frozen(of_node bigint, wanted text, part text)
RETURNS TABLE (primary_type text, properties jsonb) LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
	SELECT z.primary_type, repo.version_properties(z)
		FROM repo.version_history h JOIN repo.version_node z
			ON z.version = repo.version_find(h.uuid, wanted) AND z.history IS NULL
				AND z.below = coalesce('/' || part, '')
		WHERE h.node = of_node;
$$;

-- ---- the end of a version ----

-- Binaries that only a version held go as others do.
CREATE TRIGGER blob_let_go AFTER DELETE ON repo.version_blob FOR EACH ROW
	EXECUTE FUNCTION repo.blob_let_go();

-- Takes a version out of the history, with its labels; its successors follow its predecessor from now on.
-- Outcomes as of changes; exists: the node is based on it.
CREATE FUNCTION repo.version_remove(h repo.version_history, wanted text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	gone repo.version;
BEGIN
	SELECT * INTO gone FROM repo.version v WHERE v.history = h.uuid AND v.name = wanted;
	IF gone.id IS NULL THEN
		RETURN 'no_version';
	ELSIF gone.id = h.base THEN
		RETURN 'exists';
	END IF;
	UPDATE repo.version v SET predecessor = gone.predecessor WHERE v.predecessor = gone.id;
	DELETE FROM repo.version_label l WHERE l.version = gone.id;
	DELETE FROM repo.version_blob b WHERE b.version = gone.id;
	DELETE FROM repo.version_node z WHERE z.version = gone.id;
	DELETE FROM repo.version v WHERE v.id = gone.id;
	RETURN 'done';
END $$;

-- ---- as changes of a commit: as in 0014, with version- ----

CREATE OR REPLACE FUNCTION repo.change_strength(c jsonb) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE
		WHEN c ->> 'kind' = 'copy' THEN 1
		WHEN c ->> 'kind' IN ('order', 'unset', 'ace+', 'ace-', 'acl-', 'checkin', 'checkout', 'label+',
			'label-', 'version-') OR jsonb_typeof(c -> 'base') = 'object' THEN 2
		ELSE 3 END;
$$;

CREATE OR REPLACE FUNCTION repo.change_version(c jsonb, f repo.change_fact) RETURNS text
LANGUAGE plpgsql AS $$
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
	WHEN 'version-' THEN
		RETURN repo.version_remove(h, c ->> 'name');
	ELSE
		RETURN repo.version_label_remove(h, c ->> 'name');
	END CASE;
END $$;

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
	WHEN 'checkin', 'checkout', 'restore', 'label+', 'label-', 'version-' THEN
		f.outcome := repo.change_version(c, f);
	ELSE
		f.outcome := CASE WHEN repo.change_list(c) THEN 'done' ELSE 'same' END;
	END CASE;
	RETURN f;
END $$;

-- What nodes that are versionable already say.
UPDATE repo.content c SET properties = c.properties || repo.version_facts(h), version = c.version + 1
	FROM repo.version_history h WHERE h.node = c.id;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA repo FROM PUBLIC;
GRANT EXECUTE ON FUNCTION repo.version_frozen(bigint, text, text) TO boardwalk_repo;
