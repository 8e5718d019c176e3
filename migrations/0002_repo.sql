-- 0002_repo.sql - the content tree, its permissions and the journal of both.
--
-- Locks and time: new tables only; a few milliseconds. Undo: DROP SCHEMA repo CASCADE.
--
-- Everything that writes is a function here, so that the checks and the journal row cannot be
-- forgotten; only the owner may execute them. The role boardwalk_repo reads the tables and may
-- prune the journal, nothing else. After its commit the caller says NOTIFY boardwalk_repo from a
-- transaction of its own: a NOTIFY inside a writing one serialises all commits of the server.

CREATE SCHEMA repo;
GRANT USAGE ON SCHEMA repo TO boardwalk_repo;

-- All that a move rewrites, and narrow for that reason. position: gaps of 2^20, ties by id.
CREATE TABLE repo.tree (
	id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	parent        bigint REFERENCES repo.tree,
	name          text COLLATE "C" NOT NULL,
	path          text COLLATE "C" NOT NULL UNIQUE,
	position      bigint NOT NULL,
	primary_type  text NOT NULL,
	resource_type text,
	super_type    text
);
CREATE INDEX tree_children ON repo.tree (parent, position, id);
CREATE INDEX tree_super_type ON repo.tree (path) WHERE super_type IS NOT NULL;

-- properties: name -> object with one member, the type's tag (repo.value_check lists them).
CREATE TABLE repo.content (
	id         bigint PRIMARY KEY REFERENCES repo.tree ON DELETE CASCADE,
	properties jsonb NOT NULL DEFAULT '{}',
	version    bigint NOT NULL DEFAULT 1,
	created    timestamptz NOT NULL DEFAULT now(),
	modified   timestamptz NOT NULL DEFAULT now()
);

-- A node's access control list in the order of position. privileges: leaves, or jcr:all alone.
CREATE TABLE repo.ace (
	id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	node       bigint NOT NULL REFERENCES repo.tree ON DELETE CASCADE,
	position   integer NOT NULL,
	principal  bigint NOT NULL,
	allow      boolean NOT NULL,
	privileges text[] NOT NULL CHECK (privileges <> '{}'),
	UNIQUE (node, position)
);

-- Raised by every transaction that changes repo.ace. A read of content returns it from the same
-- snapshot, so that nobody judges a node by entries older than the node. Its row lock also makes
-- editors of lists take turns.
CREATE TABLE repo.generation (
	one boolean PRIMARY KEY DEFAULT true CHECK (one),
	acl bigint NOT NULL
);
INSERT INTO repo.generation (acl) VALUES (1);

-- What happened, for caches. REMOVED speaks for the whole subtree. Kept for an hour. Readers go by
-- xid, since seq is drawn before the commit and says nothing about the order of commits.
CREATE TABLE repo.journal (
	seq        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	xid        xid8 NOT NULL DEFAULT pg_current_xact_id(),
	kind       text NOT NULL CHECK (kind IN ('ADDED', 'CHANGED', 'REMOVED', 'ACL')),
	path       text NOT NULL,
	properties text[] NOT NULL DEFAULT '{}',
	written    timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX journal_xid ON repo.journal (xid);
CREATE INDEX journal_written ON repo.journal (written);

GRANT SELECT ON repo.tree, repo.content, repo.ace, repo.generation, repo.journal TO boardwalk_repo;

-- ---- checks ----

-- One name of a node or a property: JCR 2.0 section 3.2.2, prefixes registered so far, 255 octets.
CREATE FUNCTION repo.name_check(name text) RETURNS void LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
	local text := regexp_replace(name, '^[^:]*:', '');
BEGIN
	IF name IS NULL OR local = '' OR local IN ('.', '..') OR name IN ('.', '..') THEN
		RAISE EXCEPTION 'not a name: "%"', name USING ERRCODE = 'invalid_name';
	ELSIF octet_length(name) > 255 THEN
		RAISE EXCEPTION 'name of more than 255 octets: "%"', left(name, 40)
			USING ERRCODE = 'invalid_name';
	ELSIF local ~ '[/:\[\]|*\u0001-\u001f\u007f-\u009f]' OR local ~ '^ | $' THEN
		RAISE EXCEPTION 'name with a forbidden character: "%"', name
			USING ERRCODE = 'invalid_name';
	ELSIF name IS NOT NFC NORMALIZED THEN
		RAISE EXCEPTION 'name not in NFC: "%"', name USING ERRCODE = 'invalid_name';
	ELSIF name LIKE '%:%' AND split_part(name, ':', 1)
			NOT IN ('jcr', 'nt', 'mix', 'xml', 'rep', 'oak', 'sling') THEN
		RAISE EXCEPTION 'namespace prefix not registered: "%"', name
			USING ERRCODE = 'invalid_name';
	END IF;
END $$;

-- Absolute, no empty segment, no slash at the end but for the root; 2048 octets, 64 levels.
CREATE FUNCTION repo.path_check(path text) RETURNS void LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
	names text[] := string_to_array(substr(path, 2), '/');
BEGIN
	IF path = '/' THEN
		RETURN;
	ELSIF path IS NULL OR path NOT LIKE '/%' THEN
		RAISE EXCEPTION 'not an absolute path: "%"', path USING ERRCODE = 'invalid_name';
	ELSIF octet_length(path) > 2048 OR cardinality(names) > 64 THEN
		RAISE EXCEPTION 'path of more than 2048 octets or 64 levels: "%"', left(path, 40)
			USING ERRCODE = 'invalid_name';
	END IF;
	FOR i IN 1 .. cardinality(names) LOOP
		PERFORM repo.name_check(names[i]);
	END LOOP;
END $$;

CREATE FUNCTION repo.node_type_check(type text) RETURNS void LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	IF type IN ('nt:base', 'nt:hierarchyNode') THEN
		RAISE EXCEPTION 'node type is abstract: "%"', type USING ERRCODE = 'invalid_parameter_value';
	ELSIF type IS NULL OR type NOT IN ('nt:unstructured', 'nt:folder', 'nt:file', 'nt:resource',
			'oak:Resource', 'sling:Folder', 'sling:OrderedFolder', 'sling:Mapping') THEN
		RAISE EXCEPTION 'unknown node type: "%"', type USING ERRCODE = 'invalid_parameter_value';
	END IF;
END $$;

-- Whether one JSON scalar is a value of the type with this tag. Long and Boolean are JSON values,
-- everything else is text: JSON numbers have no NaN, and jsonb loses -0.
CREATE FUNCTION repo.scalar_fits(tag text, scalar jsonb) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
	kind text := jsonb_typeof(scalar);
	txt  text := scalar #>> '{}';
BEGIN
	IF octet_length(txt) > 65536 THEN
		RAISE EXCEPTION 'value of more than 64 KiB' USING ERRCODE = 'program_limit_exceeded';
	END IF;
	RETURN CASE tag
	WHEN 'l' THEN kind = 'number' AND txt ~ '^-?[0-9]{1,19}$'
		AND txt::numeric BETWEEN -9223372036854775808 AND 9223372036854775807
	WHEN 'b' THEN kind = 'boolean'
	WHEN 'd' THEN kind = 'string'
		AND txt ~ '^([-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]{1,3})?|NaN|-?Infinity)$'
	WHEN 'dec' THEN kind = 'string'
		AND txt ~ '^[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]{1,9})?$'
	WHEN 'date' THEN kind = 'string'
		AND txt ~ '^-?\d{4,}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(Z|[-+]\d\d:\d\d)$'
	ELSE kind = 'string'
	END;
END $$;

-- A typed value: an object with one member, {"s":"x"} or {"l":[1,2]}. Tags: s String, l Long,
-- d Double, dec Decimal, date Date, b Boolean, name Name, path Path, ref Reference,
-- weak WeakReference, uri URI.
CREATE FUNCTION repo.value_check(value jsonb) RETURNS void LANGUAGE plpgsql IMMUTABLE AS $$
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
	IF tag NOT IN ('s', 'l', 'd', 'dec', 'date', 'b', 'name', 'path', 'ref', 'weak', 'uri') THEN
		RAISE EXCEPTION 'unknown type tag: "%"', tag USING ERRCODE = 'invalid_parameter_value';
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

-- Privileges as their leaves, sorted; jcr:all absorbs the rest and stays, since it includes what is
-- registered later.
CREATE FUNCTION repo.privilege_leaves(names text[]) RETURNS text[] LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
	modify CONSTANT text[] := '{rep:addProperties,rep:alterProperties,rep:removeProperties}';
	write  CONSTANT text[] := modify
		|| '{jcr:addChildNodes,jcr:removeChildNodes,jcr:removeNode}'::text[];
	leaves text[] := '{}';
	name   text;
BEGIN
	IF names IS NULL OR cardinality(names) = 0 THEN
		RAISE EXCEPTION 'no privilege' USING ERRCODE = 'invalid_parameter_value';
	END IF;
	FOREACH name IN ARRAY names LOOP
		CASE
		WHEN name IN ('rep:readNodes', 'rep:readProperties', 'rep:addProperties',
				'rep:alterProperties', 'rep:removeProperties', 'jcr:addChildNodes',
				'jcr:removeChildNodes', 'jcr:removeNode', 'jcr:nodeTypeManagement',
				'jcr:readAccessControl', 'jcr:modifyAccessControl', 'jcr:versionManagement',
				'jcr:lockManagement', 'jcr:lifecycleManagement', 'jcr:retentionManagement',
				'rep:userManagement', 'rep:indexDefinitionManagement', 'jcr:all') THEN
			leaves := leaves || name;
		WHEN name = 'jcr:read' THEN
			leaves := leaves || '{rep:readNodes,rep:readProperties}'::text[];
		WHEN name = 'jcr:modifyProperties' THEN
			leaves := leaves || modify;
		WHEN name = 'jcr:write' THEN
			leaves := leaves || write;
		WHEN name = 'rep:write' THEN
			leaves := leaves || write || '{jcr:nodeTypeManagement}'::text[];
		WHEN name IN ('jcr:workspaceManagement', 'jcr:nodeTypeDefinitionManagement',
				'jcr:namespaceManagement', 'rep:privilegeManagement') THEN
			RAISE EXCEPTION 'privilege of the whole repository, not of a node: "%"', name
				USING ERRCODE = 'invalid_parameter_value';
		ELSE
			RAISE EXCEPTION 'unknown privilege: "%"', name
				USING ERRCODE = 'invalid_parameter_value';
		END CASE;
	END LOOP;
	IF 'jcr:all' = ANY (leaves) THEN
		RETURN '{jcr:all}';
	END IF;
	RETURN ARRAY (SELECT DISTINCT l FROM unnest(leaves) l ORDER BY l);
END $$;

-- a without b. What is left of jcr:all is the list of its present leaves.
CREATE FUNCTION repo.privilege_minus(a text[], b text[]) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	IF b = '{jcr:all}' THEN
		RETURN '{}';
	ELSIF a = '{jcr:all}' THEN
		a := repo.privilege_leaves('{jcr:read,rep:write,jcr:readAccessControl,
			jcr:modifyAccessControl,jcr:versionManagement,jcr:lockManagement,
			jcr:lifecycleManagement,jcr:retentionManagement,rep:userManagement,
			rep:indexDefinitionManagement}');
	END IF;
	RETURN ARRAY (SELECT l FROM unnest(a) l WHERE l <> ALL (b) ORDER BY l);
END $$;

-- ---- writing ----

-- One advisory lock over the structure: shared to add, exclusive to remove a subtree (or to move
-- one). Without it a child added meanwhile keeps a path that no longer exists.
CREATE FUNCTION repo.structure_lock(exclusively boolean) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	IF exclusively THEN
		PERFORM pg_advisory_xact_lock(1651471972, 1);
	ELSE
		PERFORM pg_advisory_xact_lock_shared(1651471972, 1);
	END IF;
END $$;

CREATE FUNCTION repo.journal_write(kind text, path text, properties text[] DEFAULT '{}')
RETURNS void LANGUAGE sql AS $$
	INSERT INTO repo.journal (kind, path, properties) VALUES (kind, path, properties);
$$;

-- True: created. False: it exists and was not touched, whatever its type.
CREATE FUNCTION repo.node_create(path text, primary_type text) RETURNS boolean
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
	wanted     CONSTANT text := node_create.path;
	type       CONSTANT text := node_create.primary_type;
	above      CONSTANT text := coalesce(nullif(regexp_replace(wanted, '/[^/]*$', ''), ''), '/');
	child_name CONSTANT text := substring(wanted FROM '[^/]*$');
	parent_id  bigint;
	new_id     bigint;
BEGIN
	PERFORM repo.path_check(wanted), repo.node_type_check(type);
	PERFORM repo.structure_lock(false);
	IF EXISTS (SELECT FROM repo.tree t WHERE t.path = wanted) THEN
		RETURN false;
	END IF;
	-- The lock that property_set waits for before it adds a property.
	SELECT t.id INTO parent_id FROM repo.tree t WHERE t.path = above FOR KEY SHARE;
	IF parent_id IS NULL THEN
		RAISE EXCEPTION 'no parent: "%"', wanted USING ERRCODE = 'foreign_key_violation';
	END IF;
	IF EXISTS (SELECT FROM repo.content c WHERE c.id = parent_id AND c.properties ? child_name) THEN
		RAISE EXCEPTION 'a property has this name: "%"', wanted USING ERRCODE = 'unique_violation';
	END IF;
	INSERT INTO repo.tree (parent, name, path, position, primary_type)
		SELECT parent_id, child_name, wanted,
			coalesce((SELECT max(s.position) FROM repo.tree s WHERE s.parent = parent_id), 0)
				+ 1048576,
			type
		ON CONFLICT (path) DO NOTHING RETURNING id INTO new_id;
	IF new_id IS NULL THEN
		RETURN false;
	END IF;
	INSERT INTO repo.content (id) VALUES (new_id);
	PERFORM repo.journal_write('ADDED', wanted);
	RETURN true;
END $$;

-- The node's id, its row locked; adding: against children that are being created, too.
CREATE FUNCTION repo.node_lock(wanted text, adding boolean) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	node bigint;
BEGIN
	IF adding THEN
		SELECT id INTO node FROM repo.tree WHERE path = wanted FOR UPDATE;
	ELSE
		SELECT id INTO node FROM repo.tree WHERE path = wanted FOR NO KEY UPDATE;
	END IF;
	IF node IS NULL THEN
		RAISE EXCEPTION 'no such node: "%"', wanted USING ERRCODE = 'no_data_found';
	END IF;
	RETURN node;
END $$;

-- resource_type and super_type stand in the tree as well, where they are searched. value: NULL for
-- a removal.
CREATE FUNCTION repo.type_follow(node bigint, property text, value jsonb) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
	IF property NOT IN ('sling:resourceType', 'sling:resourceSuperType') THEN
		RETURN;
	END IF;
	IF value IS NOT NULL AND (jsonb_typeof(value -> 's') IS DISTINCT FROM 'string'
			OR octet_length(value ->> 's') NOT BETWEEN 1 AND 2048) THEN
		RAISE EXCEPTION '% is one String of 1 to 2048 octets', property
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	IF property = 'sling:resourceType' THEN
		UPDATE repo.tree SET resource_type = value ->> 's' WHERE id = node;
	ELSE
		UPDATE repo.tree SET super_type = value ->> 's' WHERE id = node;
	END IF;
END $$;

-- True: written. False: it had that value and type already. The properties of one node take at most
-- 128 KiB, so that one frame carries them.
CREATE FUNCTION repo.property_set(path text, name text, value jsonb) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
	node  bigint;
	props jsonb;
BEGIN
	PERFORM repo.name_check(name), repo.value_check(value);
	IF name IN ('jcr:primaryType', 'jcr:mixinTypes') THEN
		RAISE EXCEPTION '% is not set as a property', name USING ERRCODE = 'invalid_parameter_value';
	END IF;
	node := repo.node_lock(path, true);
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
	IF octet_length(props::text) > 131072 THEN
		RAISE EXCEPTION 'properties of more than 128 KiB: "%"', path
			USING ERRCODE = 'program_limit_exceeded';
	END IF;
	UPDATE repo.content SET properties = props, version = version + 1, modified = now()
		WHERE id = node;
	PERFORM repo.type_follow(node, name, value);
	PERFORM repo.journal_write('CHANGED', path, ARRAY[name]);
	RETURN true;
END $$;

-- False: there was none.
CREATE FUNCTION repo.property_remove(path text, name text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	node bigint := repo.node_lock(path, false);
BEGIN
	UPDATE repo.content SET properties = properties - property_remove.name, version = version + 1,
		modified = now() WHERE id = node AND properties ? property_remove.name;
	IF NOT FOUND THEN
		RETURN false;
	END IF;
	PERFORM repo.type_follow(node, name, NULL);
	PERFORM repo.journal_write('CHANGED', path, ARRAY[name]);
	RETURN true;
END $$;

-- A transaction that changes entries calls this first: editors take turns, readers are told.
CREATE FUNCTION repo.acl_raise() RETURNS void LANGUAGE sql AS $$
	UPDATE repo.generation SET acl = acl + 1;
$$;

-- The node, everything below and their entries. False: there was none.
CREATE FUNCTION repo.node_delete(path text) RETURNS boolean LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
	wanted CONSTANT text := node_delete.path;
BEGIN
	PERFORM repo.path_check(wanted);
	IF wanted = '/' THEN
		RAISE EXCEPTION 'the root is not deleted' USING ERRCODE = 'invalid_parameter_value';
	END IF;
	PERFORM repo.structure_lock(true);
	-- '0' is the octet behind '/': the range of everything below.
	IF EXISTS (SELECT FROM repo.ace a JOIN repo.tree t ON t.id = a.node WHERE t.path = wanted
			OR (t.path > wanted || '/' AND t.path < wanted || '0')) THEN
		PERFORM repo.acl_raise();
	END IF;
	DELETE FROM repo.tree t WHERE t.path = wanted
		OR (t.path > wanted || '/' AND t.path < wanted || '0');
	IF NOT FOUND THEN
		RETURN false;
	END IF;
	PERFORM repo.journal_write('REMOVED', wanted);
	RETURN true;
END $$;

-- Adds an entry as Oak's list editor does: merged into the principal's entry of the same kind,
-- taken away from its entry of the opposite kind, else appended. False: nothing changed.
CREATE FUNCTION repo.ace_append(path text, principal bigint, allow boolean, privileges text[])
RETURNS boolean LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
	who      CONSTANT bigint := ace_append.principal;
	kind     CONSTANT boolean := ace_append.allow;
	leaves   CONSTANT text[] := repo.privilege_leaves(ace_append.privileges);
	node_id  bigint;
	same     repo.ace;
	opposite repo.ace;
	changed  boolean := false;
BEGIN
	IF kind IS NULL OR NOT EXISTS (SELECT FROM auth.principal_public p WHERE p.id = who) THEN
		RAISE EXCEPTION 'no such principal: %', who USING ERRCODE = 'foreign_key_violation';
	ELSIF who = 1 THEN
		RAISE EXCEPTION 'the administrator needs no entry and gets none'
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	PERFORM repo.structure_lock(false);
	node_id := repo.node_lock(ace_append.path, false);
	PERFORM repo.acl_raise();
	SELECT * INTO same FROM repo.ace WHERE node = node_id AND principal = who AND allow = kind;
	SELECT * INTO opposite FROM repo.ace WHERE node = node_id AND principal = who AND allow <> kind;
	IF opposite.privileges && leaves OR '{jcr:all}' IN (opposite.privileges, leaves)
			AND opposite.id IS NOT NULL THEN
		changed := true;
		IF repo.privilege_minus(opposite.privileges, leaves) = '{}' THEN
			DELETE FROM repo.ace WHERE id = opposite.id;
		ELSE
			UPDATE repo.ace SET privileges = repo.privilege_minus(opposite.privileges, leaves)
				WHERE id = opposite.id;
		END IF;
	END IF;
	IF same.id IS NULL THEN
		changed := true;
		INSERT INTO repo.ace (node, position, principal, allow, privileges)
			SELECT node_id, coalesce(max(position), 0) + 1, who, kind, leaves
			FROM repo.ace WHERE node = node_id;
	ELSIF same.privileges <> '{jcr:all}' AND NOT same.privileges @> leaves THEN
		changed := true;
		UPDATE repo.ace SET privileges = repo.privilege_leaves(same.privileges || leaves)
			WHERE id = same.id;
	END IF;
	IF changed THEN
		PERFORM repo.journal_write('ACL', ace_append.path);
	END IF;
	RETURN changed;
END $$;

-- All entries of one principal on one node; how many there were.
CREATE FUNCTION repo.ace_remove_all(path text, principal bigint) RETURNS integer
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
	node_id bigint := repo.node_lock(ace_remove_all.path, false);
	removed integer;
BEGIN
	PERFORM repo.acl_raise();
	DELETE FROM repo.ace WHERE node = node_id AND principal = ace_remove_all.principal;
	GET DIAGNOSTICS removed = ROW_COUNT;
	IF removed > 0 THEN
		PERFORM repo.journal_write('ACL', ace_remove_all.path);
	END IF;
	RETURN removed;
END $$;

-- Run by boardwalk_repo once a minute: rows older than an hour, at most 10,000 at a time.
CREATE FUNCTION repo.journal_prune() RETURNS integer LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog AS $$
DECLARE
	removed integer;
BEGIN
	DELETE FROM repo.journal WHERE seq IN (SELECT seq FROM repo.journal
		WHERE written < now() - interval '1 hour' ORDER BY written LIMIT 10000
		FOR UPDATE SKIP LOCKED);
	GET DIAGNOSTICS removed = ROW_COUNT;
	RETURN removed;
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA repo FROM PUBLIC;
GRANT EXECUTE ON FUNCTION repo.journal_prune() TO boardwalk_repo;

-- The root. Nobody but the administrator sees it until an entry says so.
WITH root AS (
	INSERT INTO repo.tree (parent, name, path, position, primary_type)
	VALUES (NULL, '', '/', 0, 'rep:root') RETURNING id
)
INSERT INTO repo.content (id) SELECT id FROM root;
