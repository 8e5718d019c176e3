-- 0009_commit.sql - what repo's commits call: a list of changes, each made upon the outcome of those
-- before it, all in one transaction of the caller's.
--
-- Locks and time: new functions and a type only; a few milliseconds. Undo: drop them, and create
-- node_delete as in 0002.
--
-- The caller's transaction, READ COMMITTED:
--
--    BEGIN; commit_apply -> facts, one row for each change that was come to
--                           permissions are judged by them, outside
--    commit_finish; COMMIT    or ROLLBACK
--
-- A change is an object. All have kind and path; version: of the node at path as it was read, 0 if it
-- was not. Besides:
--    create   name: primary type or null, mixins, properties
--    remove
--    move     name: the path it is to have
--    copy     name: the same
--    order    name: of the sibling it goes before, null: last
--    set      name, value, base: the property's value as it was read, null if there was none, absent
--             if it was not read
--    unset    name, base
--    type     name, base: the type as it was read, null if it was not
--    mixin+   name
--    mixin-   name
--
-- Nobody's permission is asked here. The functions that the role boardwalk_repo may execute write
-- nothing that the rules of names, values, types and structure do not allow, and their journal rows.

-- What a permission is judged by. Row 0 is about the transaction: node is repo.generation.acl.
CREATE TYPE repo.change_fact AS (
	n           integer,  -- of the change, from 1
	outcome     text,     -- NULL: go on. See repo.commit_apply
	node        bigint,
	node_type   text,     -- before the change
	parent      bigint,   -- of a node that is added, or whose children are ordered
	parent_type text,
	above       bigint,   -- the parent that a removed or moved node had
	had         boolean,  -- the property was there
	detail      text,
	names       text[]
);

-- As in 0006, but its plan is kept: that of a function in SQL is made anew with each statement that
-- calls it.
CREATE OR REPLACE FUNCTION repo.journal_write(kind text, path text, properties text[] DEFAULT '{}',
	from_path text DEFAULT NULL)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO repo.journal (kind, path, properties, from_path, principal, node, of_file)
		VALUES (kind, path, properties, from_path,
			nullif(current_setting('boardwalk.principal', true), ''),
			nullif(current_setting('boardwalk.node', true), ''),
			right(path, 12) = '/jcr:content' AND EXISTS (SELECT FROM repo.tree t
				WHERE t.path = left(journal_write.path, -12) AND t.primary_type = 'nt:file'));
END $$;

CREATE FUNCTION repo.path_above(path text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT coalesce(nullif(left(path, -strpos(reverse(path), '/')), ''), '/');
$$;

CREATE FUNCTION repo.path_name(path text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT right(path, strpos(reverse(path), '/') - 1);
$$;

-- ---- locks ----

-- 1: it stays, and gets no property of a name that a child is being given. 2: it is changed. 3: the
-- same, and it gets no child meanwhile.
CREATE FUNCTION repo.tree_lock(wanted text, strength integer) RETURNS repo.tree
LANGUAGE plpgsql AS $$
DECLARE
	found repo.tree;
BEGIN
	IF strength = 1 THEN
		SELECT * INTO found FROM repo.tree t WHERE t.path = wanted FOR KEY SHARE;
	ELSIF strength = 2 THEN
		SELECT * INTO found FROM repo.tree t WHERE t.path = wanted FOR NO KEY UPDATE;
	ELSE
		SELECT * INTO found FROM repo.tree t WHERE t.path = wanted FOR UPDATE;
	END IF;
	RETURN found;
END $$;

CREATE FUNCTION repo.change_strength(c jsonb) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE
		WHEN c ->> 'kind' = 'copy' THEN 1
		WHEN c ->> 'kind' IN ('order', 'unset') OR jsonb_typeof(c -> 'base') = 'object' THEN 2
		ELSE 3 END;
$$;

-- Where a change adds a node; NULL: it does not.
CREATE FUNCTION repo.change_target(c jsonb) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE c ->> 'kind' WHEN 'create' THEN c ->> 'path' WHEN 'move' THEN c ->> 'name'
		WHEN 'copy' THEN c ->> 'name' END;
$$;

-- The structure first, then the rows of several changes in the order of their ids, so that two commits
-- over the same rows wait for each other and do not deadlock. What is not there yet, or comes to lie
-- elsewhere by one of the changes, is locked when its turn comes.
CREATE FUNCTION repo.commit_lock(changes jsonb) RETURNS void LANGUAGE plpgsql AS $$
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
			WHERE c ->> 'kind' IN ('remove', 'move')));
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

-- ---- structure ----

-- Below this many nodes a move or a removal is one commit's work; more are refused.
CREATE FUNCTION repo.subtree_max() RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT 100000::bigint';

-- Of everything at and below a path, if it were at another. '0' is the octet behind '/'.
CREATE FUNCTION repo.subtree_measure(wanted text, target text, OUT nodes bigint, OUT octets integer,
	OUT levels integer, OUT lists bigint) LANGUAGE sql STABLE AS $$
	SELECT count(*), max(octet_length(t.path)) - octet_length(wanted) + octet_length(target),
		max(length(t.path) - length(replace(t.path, '/', '')))
			- (length(wanted) - length(replace(wanted, '/', '')))
			+ (length(target) - length(replace(target, '/', ''))),
		count(a.node)
	FROM repo.tree t LEFT JOIN (SELECT DISTINCT node FROM repo.ace) a ON a.node = t.id
	WHERE t.path = wanted OR (t.path > wanted || '/' AND t.path < wanted || '0');
$$;

CREATE FUNCTION repo.copy_max() RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT 10000::bigint';

-- Raises if a subtree is too large, or does not fit at this path.
CREATE FUNCTION repo.subtree_fits(wanted text, target text, most bigint, OUT m record)
LANGUAGE plpgsql AS $$
BEGIN
	SELECT * INTO m FROM repo.subtree_measure(wanted, target);
	IF m.nodes > most THEN
		RAISE EXCEPTION 'more than % nodes at once: "%"', most, wanted
			USING ERRCODE = 'program_limit_exceeded';
	ELSIF m.octets > 2048 OR m.levels > 64 THEN
		RAISE EXCEPTION 'path of more than 2048 octets or 64 levels below "%"', target
			USING ERRCODE = 'invalid_name';
	END IF;
END $$;

-- The same for one that is moved or removed. Raises also if that needs a lock that the transaction does
-- not have: children have come since it was taken.
CREATE FUNCTION repo.subtree_check(wanted text, target text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	m record := repo.subtree_fits(wanted, target, repo.subtree_max());
BEGIN
	IF m.nodes > 1 AND current_setting('boardwalk.exclusive', true) = 'false' THEN
		RAISE EXCEPTION 'children have come meanwhile: "%"', wanted
			USING ERRCODE = 'serialization_failure';
	ELSIF m.lists > 0 THEN
		PERFORM repo.acl_raise(); -- lists are found by paths
	END IF;
END $$;

-- A child may not have the name of a property of its parent.
CREATE FUNCTION repo.child_name_check(parent bigint, path text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	IF EXISTS (SELECT FROM repo.content c WHERE c.id = parent AND c.properties ? repo.path_name(path)) THEN
		RAISE EXCEPTION 'a property has this name: "%"', path USING ERRCODE = 'unique_violation';
	END IF;
END $$;

CREATE FUNCTION repo.position_last(parent bigint) RETURNS bigint LANGUAGE sql AS $$
	SELECT coalesce((SELECT max(t.position) FROM repo.tree t WHERE t.parent = position_last.parent), 0)
		+ 1048576;
$$;

-- Raises for what can be the target of no move and no copy.
CREATE FUNCTION repo.target_check(source text, target text, parent bigint) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
	PERFORM repo.path_check(target);
	IF source = '/' OR target = '/' THEN
		RAISE EXCEPTION 'the root is not moved, copied or replaced'
			USING ERRCODE = 'invalid_parameter_value';
	ELSIF starts_with(target, source || '/') THEN
		RAISE EXCEPTION 'the target lies inside the source: "%"', target
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	PERFORM repo.child_name_check(parent, target);
END $$;

CREATE FUNCTION repo.subtree_move(node bigint, source text, target text, new_parent bigint)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	last CONSTANT bigint := repo.position_last(new_parent);
BEGIN
	PERFORM repo.subtree_check(source, target);
	UPDATE repo.tree t SET path = target || substr(t.path, length(source) + 1),
			parent = CASE WHEN t.id = node THEN new_parent ELSE t.parent END,
			name = CASE WHEN t.id = node THEN repo.path_name(target) ELSE t.name END,
			position = CASE WHEN t.id = node THEN last ELSE t.position END
		WHERE t.path = source OR (t.path > source || '/' AND t.path < source || '0');
	PERFORM repo.journal_write('REMOVED', source), repo.journal_write('ADDED', target, '{}', source);
END $$;

-- Everything but the entries; identifiers and what says who made it when are made anew. The ids of the
-- copies with those of their originals.
CREATE FUNCTION repo.subtree_copy(source text, target text, new_parent bigint)
RETURNS TABLE (copy bigint, original text, node_type text, names text[]) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
	ids  bigint[];
	made bigint[];
	top  CONSTANT integer := length(source) + 1;
BEGIN
	SELECT array_agg(t.id ORDER BY t.path), array_agg(nextval(pg_get_serial_sequence('repo.tree', 'id'))
			ORDER BY t.path)
		INTO ids, made FROM repo.tree t
		WHERE t.path = source OR (t.path > source || '/' AND t.path < source || '0');
	INSERT INTO repo.tree (id, parent, name, path, position, primary_type, mixins, resource_type, super_type)
		OVERRIDING SYSTEM VALUE
		SELECT m.copy, coalesce(u.copy, new_parent),
			CASE WHEN u.copy IS NULL THEN repo.path_name(target) ELSE t.name END,
			target || substr(t.path, top),
			CASE WHEN u.copy IS NULL THEN repo.position_last(new_parent) ELSE t.position END,
			t.primary_type, t.mixins, t.resource_type, t.super_type
		FROM unnest(ids, made) m (original, copy) JOIN repo.tree t ON t.id = m.original
			LEFT JOIN unnest(ids, made) u (original, copy) ON u.original = t.parent AND t.path <> source
		ORDER BY m.copy;
	INSERT INTO repo.content (id, properties)
		SELECT m.copy, c.properties || repo.copied_properties(c.properties)
		FROM unnest(ids, made) m (original, copy) JOIN repo.content c ON c.id = m.original;
	PERFORM repo.journal_write('ADDED', target, '{}', source);
	RETURN QUERY SELECT m.copy, t.path::text, t.primary_type,
			ARRAY (SELECT jsonb_object_keys(c.properties))
		FROM unnest(ids, made) m (original, copy) JOIN repo.tree t ON t.id = m.original
			JOIN repo.content c ON c.id = m.original
		ORDER BY string_to_array(t.path, '/');
END $$;

-- What of these properties a copy has of its own.
CREATE FUNCTION repo.copied_properties(properties jsonb) RETURNS jsonb LANGUAGE sql VOLATILE AS $$
	SELECT coalesce(jsonb_object_agg(p.key, p.value) FILTER (WHERE properties ? p.key), '{}')
	FROM jsonb_each(repo.created_properties('{"jcr:created": {"system": "now"},
		"jcr:createdBy": {"system": "user"}, "jcr:uuid": {"system": "uuid"}}')) p;
$$;

-- False: there is no such node.
CREATE FUNCTION repo.subtree_remove(wanted text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	DELETE FROM repo.tree t
		WHERE t.path = wanted OR (t.path > wanted || '/' AND t.path < wanted || '0');
	IF NOT FOUND THEN
		RETURN false;
	END IF;
	PERFORM repo.journal_write('REMOVED', wanted);
	RETURN true;
END $$;

-- As in 0002, by the function that commits remove with.
CREATE OR REPLACE FUNCTION repo.node_delete(path text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	wanted CONSTANT text := node_delete.path;
BEGIN
	PERFORM repo.path_check(wanted);
	IF wanted = '/' THEN
		RAISE EXCEPTION 'the root is not deleted' USING ERRCODE = 'invalid_parameter_value';
	END IF;
	PERFORM repo.structure_lock(true);
	IF (repo.subtree_measure(wanted, wanted)).lists > 0 THEN
		PERFORM repo.acl_raise();
	END IF;
	RETURN repo.subtree_remove(wanted);
END $$;

-- ---- order ----

-- Places the children of a node anew, with the whole gap between each two.
CREATE FUNCTION repo.children_spread(parent bigint) RETURNS void LANGUAGE sql AS $$
	UPDATE repo.tree t SET position = n.place * 1048576
		FROM (SELECT k.id, row_number() OVER (ORDER BY k.position, k.id) AS place
			FROM repo.tree k WHERE k.parent = children_spread.parent) n
		WHERE t.id = n.id;
	SELECT repo.journal_write('ORDERED', t.path) FROM repo.tree t WHERE t.parent = children_spread.parent;
$$;

-- The position right before a sibling, for a child that is not counted; NULL: there is no room.
CREATE FUNCTION repo.position_before(next repo.tree, child bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
	low bigint := (SELECT t.position FROM repo.tree t WHERE t.parent = next.parent AND t.id <> child
		AND (t.position, t.id) < (next.position, next.id) ORDER BY t.position DESC, t.id DESC LIMIT 1);
BEGIN
	IF low IS NULL THEN
		RETURN next.position - 1048576;
	END IF;
	RETURN CASE WHEN next.position - low > 1 THEN low + (next.position - low) / 2 END;
END $$;

-- ---- one change ----
-- Each has been looked at: its locks are held, and f says what was found. outcome: done; same (it was
-- so already); else why not, see repo.commit_apply. What raises is a rule of the content.

CREATE FUNCTION repo.change_look(n integer, c jsonb) RETURNS repo.change_fact LANGUAGE plpgsql AS $$
DECLARE
	kind   CONSTANT text := c ->> 'kind';
	target CONSTANT text := repo.change_target(c);
	f      repo.change_fact;
	t      repo.tree;
BEGIN
	f.n := n;
	IF kind <> 'create' THEN
		t := repo.tree_lock(c ->> 'path', repo.change_strength(c));
		IF t.id IS NULL THEN
			f.outcome := CASE kind WHEN 'remove' THEN 'same' ELSE 'gone' END;
			RETURN f;
		END IF;
		f.node := t.id;
		f.node_type := t.primary_type;
		f.above := t.parent;
	END IF;
	IF target IS NOT NULL THEN
		t := repo.tree_lock(repo.path_above(target), 1);
		f.outcome := CASE WHEN t.id IS NULL THEN 'no_parent' END;
	ELSIF kind = 'order' THEN
		SELECT * INTO t FROM repo.tree WHERE id = f.above;
	ELSE
		f.had := kind IN ('set', 'unset') AND EXISTS (SELECT FROM repo.content
			WHERE id = f.node AND properties ? (c ->> 'name'));
		RETURN f;
	END IF;
	f.parent := t.id;
	f.parent_type := t.primary_type;
	RETURN f;
END $$;

-- What two sessions write about one node without being in each other's way.
CREATE FUNCTION repo.merged_properties() RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
	SELECT '{jcr:created,jcr:createdBy,jcr:lastModified,jcr:lastModifiedBy}'::text[];
$$;

-- Whether a node is what the change would have made.
CREATE FUNCTION repo.node_is(node bigint, type text, mixins text[], given jsonb) RETURNS boolean
LANGUAGE sql STABLE AS $$
	SELECT t.primary_type = type AND t.mixins = node_is.mixins
		AND c.properties - repo.merged_properties() - 'jcr:uuid'::text
		= repo.properties_of_new(repo.definition(type, node_is.mixins), node_is.mixins, given)
			- repo.merged_properties() - 'jcr:uuid'::text
	FROM repo.tree t JOIN repo.content c ON c.id = t.id WHERE t.id = node;
$$;

CREATE FUNCTION repo.change_create(c jsonb, INOUT f repo.change_fact) LANGUAGE plpgsql AS $$
DECLARE
	wanted CONSTANT text := c ->> 'path';
	extra  CONSTANT text[] := ARRAY (SELECT jsonb_array_elements_text(c -> 'mixins'));
	given  CONSTANT jsonb := c -> 'properties';
BEGIN
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

-- Whether the node is as it was read.
CREATE FUNCTION repo.version_is(node bigint, version bigint) RETURNS boolean LANGUAGE sql AS $$
	SELECT version_is.version IN (0, c.version) FROM repo.content c WHERE c.id = node;
$$;

CREATE FUNCTION repo.change_remove(c jsonb, INOUT f repo.change_fact) LANGUAGE plpgsql AS $$
DECLARE
	wanted CONSTANT text := c ->> 'path';
BEGIN
	IF wanted = '/' THEN
		RAISE EXCEPTION 'the root is not deleted' USING ERRCODE = 'invalid_parameter_value';
	ELSIF NOT repo.version_is(f.node, (c ->> 'version')::bigint) THEN
		f.outcome := 'conflict';
		RETURN;
	END IF;
	PERFORM repo.subtree_check(wanted, wanted), repo.subtree_remove(wanted);
	f.outcome := 'done';
END $$;

CREATE FUNCTION repo.change_move(c jsonb, INOUT f repo.change_fact) LANGUAGE plpgsql AS $$
DECLARE
	source CONSTANT text := c ->> 'path';
	target CONSTANT text := c ->> 'name';
BEGIN
	f.outcome := CASE
		WHEN NOT repo.version_is(f.node, (c ->> 'version')::bigint) THEN 'conflict'
		WHEN target = source THEN 'same'
		WHEN EXISTS (SELECT FROM repo.tree t WHERE t.path = target) THEN 'exists' END;
	IF f.outcome IS NULL THEN
		PERFORM repo.target_check(source, target, f.parent);
		PERFORM repo.subtree_move(f.node, source, target, f.parent);
		f.outcome := 'done';
	END IF;
END $$;

-- The copies are told by repo.commit_apply.
CREATE FUNCTION repo.change_copy(c jsonb, INOUT f repo.change_fact) LANGUAGE plpgsql AS $$
BEGIN
	f.outcome := CASE WHEN EXISTS (SELECT FROM repo.tree t WHERE t.path = c ->> 'name') THEN 'exists' END;
	IF f.outcome IS NULL THEN
		PERFORM repo.target_check(c ->> 'path', c ->> 'name', f.parent);
		PERFORM repo.subtree_fits(c ->> 'path', c ->> 'name', repo.copy_max());
		f.outcome := 'done';
	END IF;
END $$;

CREATE FUNCTION repo.change_order(c jsonb, INOUT f repo.change_fact) LANGUAGE plpgsql AS $$
DECLARE
	self  repo.tree;
	next  repo.tree;
	place bigint;
BEGIN
	SELECT * INTO self FROM repo.tree t WHERE t.id = f.node;
	SELECT * INTO next FROM repo.tree t WHERE t.parent = f.parent AND t.path =
		rtrim(repo.path_above(self.path), '/') || '/' || (c ->> 'name');
	IF NOT repo.node_orderable(f.parent) THEN
		RAISE EXCEPTION 'children have no order here: "%"', repo.path_above(self.path)
			USING ERRCODE = 'check_violation';
	ELSIF c ->> 'name' IS NOT NULL AND next.id IS NULL THEN
		f.outcome := 'no_sibling';
	ELSIF next.id IS NOT DISTINCT FROM f.node OR (SELECT t.id FROM repo.tree t WHERE t.parent = f.parent
			AND (t.position, t.id) > (self.position, self.id) ORDER BY t.position, t.id LIMIT 1)
			IS NOT DISTINCT FROM next.id THEN
		f.outcome := 'same';
	ELSE
		f.outcome := 'done';
		place := CASE WHEN next.id IS NULL THEN repo.position_last(f.parent)
			ELSE repo.position_before(next, f.node) END;
		IF place IS NULL THEN
			f.outcome := 'spread';
			PERFORM repo.children_spread(f.parent);
			SELECT * INTO next FROM repo.tree t WHERE t.id = next.id;
			place := repo.position_before(next, f.node);
		END IF;
		UPDATE repo.tree SET position = place WHERE id = f.node;
		PERFORM repo.journal_write('ORDERED', self.path);
	END IF;
END $$;

-- Whether the property is as it was read. Base: see the head of this file.
CREATE FUNCTION repo.base_is(c jsonb, properties jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE
		WHEN NOT c ? 'base' OR c ->> 'name' = ANY (repo.merged_properties()) THEN true
		WHEN c -> 'base' = 'null' THEN NOT properties ? (c ->> 'name')
		ELSE coalesce(properties -> (c ->> 'name') = c -> 'base', false) END;
$$;

CREATE FUNCTION repo.change_set(c jsonb, INOUT f repo.change_fact) LANGUAGE plpgsql AS $$
DECLARE
	held CONSTANT jsonb := (SELECT properties FROM repo.content WHERE id = f.node);
BEGIN
	IF held -> (c ->> 'name') = c -> 'value' THEN
		f.outcome := 'same';
	ELSIF NOT repo.base_is(c, held) THEN
		f.outcome := 'conflict';
	ELSE
		PERFORM repo.property_set(c ->> 'path', c ->> 'name', c -> 'value');
		f.outcome := 'done';
	END IF;
END $$;

CREATE FUNCTION repo.change_unset(c jsonb, INOUT f repo.change_fact) LANGUAGE plpgsql AS $$
BEGIN
	IF NOT f.had THEN
		f.outcome := 'same';
	ELSIF NOT repo.base_is(c, (SELECT properties FROM repo.content WHERE id = f.node)) THEN
		f.outcome := 'conflict';
	ELSE
		PERFORM repo.property_remove(c ->> 'path', c ->> 'name');
		f.outcome := 'done';
	END IF;
END $$;

CREATE FUNCTION repo.change_type(c jsonb, INOUT f repo.change_fact) LANGUAGE plpgsql AS $$
BEGIN
	f.outcome := CASE
		WHEN f.node_type = c ->> 'name' THEN 'same'
		WHEN c ->> 'base' IS DISTINCT FROM f.node_type AND c ->> 'base' IS NOT NULL THEN 'conflict'
		WHEN repo.node_type_set(c ->> 'path', c ->> 'name') THEN 'done' ELSE 'same' END;
END $$;

CREATE FUNCTION repo.change_do(c jsonb, f repo.change_fact) RETURNS repo.change_fact
LANGUAGE plpgsql AS $$
BEGIN
	CASE c ->> 'kind'
	WHEN 'create' THEN f := repo.change_create(c, f);
	WHEN 'remove' THEN f := repo.change_remove(c, f);
	WHEN 'move' THEN f := repo.change_move(c, f);
	WHEN 'copy' THEN f := repo.change_copy(c, f);
	WHEN 'order' THEN f := repo.change_order(c, f);
	WHEN 'set' THEN f := repo.change_set(c, f);
	WHEN 'unset' THEN f := repo.change_unset(c, f);
	WHEN 'type' THEN f := repo.change_type(c, f);
	WHEN 'mixin+' THEN
		f.outcome := CASE WHEN repo.mixin_add(c ->> 'path', c ->> 'name') THEN 'done' ELSE 'same' END;
	WHEN 'mixin-' THEN
		f.outcome := CASE WHEN repo.mixin_remove(c ->> 'path', c ->> 'name') THEN 'done' ELSE 'same' END;
	END CASE;
	RETURN f;
END $$;

-- The same; what the rules of the content refuse is an outcome and no error. Each call is a transaction
-- within the transaction.
CREATE FUNCTION repo.change_try(c jsonb, f repo.change_fact) RETURNS repo.change_fact
LANGUAGE plpgsql AS $$
DECLARE
	broken text;
BEGIN
	RETURN repo.change_do(c, f);
EXCEPTION WHEN data_exception OR integrity_constraint_violation OR invalid_name
		OR program_limit_exceeded OR no_data_found OR feature_not_supported THEN
	GET STACKED DIAGNOSTICS broken = CONSTRAINT_NAME;
	IF broken = 'tree_path_key' THEN
		RAISE EXCEPTION 'somebody else has made it meanwhile' USING ERRCODE = 'serialization_failure';
	END IF;
	f.outcome := CASE WHEN SQLSTATE LIKE '54%' THEN 'too_big' ELSE 'refused' END;
	f.detail := SQLERRM;
	RETURN f;
END $$;

-- ---- a commit ----

-- Who it is for. A connection remembers the name of the last one: an id is never another's.
CREATE FUNCTION repo.commit_speaker(who bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	IF current_setting('boardwalk.speaker_id', true) IS DISTINCT FROM who::text THEN
		PERFORM set_config('boardwalk.speaker', coalesce((SELECT p.name FROM auth.principal_public p
			WHERE p.id = who), ''), false), set_config('boardwalk.speaker_id', who::text, false);
	END IF;
	PERFORM set_config('boardwalk.principal', current_setting('boardwalk.speaker'), true);
END $$;

-- Careful: what the rules of the content refuse is an outcome too, so that whoever made the changes
-- before it is judged first. It costs much, so it is for the second attempt, after an error.
-- The outcomes that end it: gone (no node at path), no_parent (none for the addition), conflict (not as
-- it was read), exists (something else is where an addition goes), no_sibling, refused (a rule of the
-- content, in detail), too_big (a limit, in detail). The others: done, same, spread (done, and all
-- siblings have new positions), and behind a copy its nodes: copied (node: the copy; node_type, detail,
-- names: of the original, detail its path).
CREATE FUNCTION repo.commit_apply(changes jsonb, who bigint, node text, careful boolean DEFAULT true) RETURNS SETOF repo.change_fact
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	touched bigint[] := '{}';
	f       repo.change_fact;
	copied  repo.change_fact;
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
			FOR copied IN SELECT i, 'copied', s.copy, s.node_type, NULL, NULL, NULL, NULL,
					s.original, s.names
					FROM repo.subtree_copy(c ->> 'path', c ->> 'name', f.parent) s LOOP
				touched := touched || copied.node;
				RETURN NEXT copied;
			END LOOP;
			CONTINUE;
		END IF;
		touched := touched || f.node;
		IF c ->> 'kind' IN ('remove', 'move') THEN
			touched := touched || f.above; -- something may be missing there now
		END IF;
	END LOOP;
	PERFORM set_config('boardwalk.touched', array_remove(touched, NULL)::text, true);
END $$;

-- The last word before the COMMIT: types and structure of all that was touched. unseen: copies that are
-- not to be, since their originals may not be read, with all copies below them; hidden: objects of a
-- copy's node and the names that it is not to have. Returns repo.generation.acl as it is now.
CREATE FUNCTION repo.commit_finish(unseen bigint[], hidden jsonb) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	DELETE FROM repo.tree t WHERE t.id = ANY (unseen);
	UPDATE repo.content c
		SET properties = c.properties - ARRAY (SELECT jsonb_array_elements_text(h -> 'names'))
		FROM jsonb_array_elements(hidden) h WHERE c.id = (h ->> 'node')::bigint;
	PERFORM repo.node_check(current_setting('boardwalk.touched')::bigint[]);
	RETURN (SELECT g.acl FROM repo.generation g);
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA repo FROM PUBLIC;
GRANT EXECUTE ON FUNCTION repo.commit_apply(jsonb, bigint, text, boolean), repo.commit_finish(bigint[], jsonb)
	TO boardwalk_repo;
