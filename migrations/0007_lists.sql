-- 0007_lists.sql - the repository's own list, lists of service users' own, where accounts live, and the
-- number of privileges.
--
-- Locks and time: two new tables; repo.ace and the view of principals are changed in place, a few
-- milliseconds. Undo: DROP TABLE repo.own_ace, repo.home; DELETE FROM repo.ace WHERE node IS NULL and
-- the old constraints; the view and the functions below as 0001, 0002, 0004 and 0005 have them.

-- ---- where accounts live ----

-- A node's name for an account's: what a name cannot hold (JCR 2.0 section 3.2.4) is written as its
-- octet in hexadecimal behind a percent sign, as in a URI.
CREATE FUNCTION auth.home_name(name text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT regexp_replace(regexp_replace(regexp_replace(
		replace(replace(replace(replace(replace(replace(replace(name,
			'%', '%25'), '/', '%2F'), ':', '%3A'), '[', '%5B'), ']', '%5D'), '|', '%7C'), '*', '%2A'),
		'^ ', '%20'), ' $', '%20'), '^\.(\.?)$', '%2E\1');
$$;

-- home: the path that the account's node has or would have. own_list: its list may be kept with it.
CREATE OR REPLACE VIEW auth.principal_public AS
	SELECT p.id, p.name, p.class, p.disabled, h.home,
		p.class = 'service' AND starts_with(h.home, '/home/users/system/') AS own_list
	FROM auth.principal p, LATERAL (SELECT coalesce(p.path, CASE p.class
			WHEN 'group' THEN '/home/groups/'
			WHEN 'service' THEN '/home/users/system/'
			ELSE '/home/users/' END || auth.home_name(p.name)) AS home) h;
GRANT EXECUTE ON FUNCTION auth.home_name(text) TO boardwalk_repo;

-- Nodes that were made for accounts: each goes with its account.
CREATE TABLE repo.home (
	principal bigint PRIMARY KEY,
	node      bigint NOT NULL UNIQUE REFERENCES repo.tree ON DELETE CASCADE
);

-- The path of an account's node, whether it is there or not.
CREATE FUNCTION repo.home_path(name text) RETURNS text LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
	result text;
BEGIN
	SELECT coalesce(t.path, p.home) INTO result FROM auth.principal_public p
		LEFT JOIN repo.home h ON h.principal = p.id LEFT JOIN repo.tree t ON t.id = h.node
		WHERE p.name = home_path.name;
	IF result IS NULL THEN
		RAISE EXCEPTION 'there is no principal "%"', home_path.name USING ERRCODE = 'no_data_found';
	END IF;
	RETURN result;
END $$;

-- Makes the node with what is missing above it. False: it is there. One that was there before stays
-- when the account goes.
CREATE FUNCTION repo.home_make(name text) RETURNS boolean LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
	wanted CONSTANT text := repo.home_path(name);
	names  CONSTANT text[] := string_to_array(substr(wanted, 2), '/');
	made   boolean := false;
BEGIN
	FOR i IN 1 .. cardinality(names) LOOP
		made := repo.node_create('/' || array_to_string(names[1:i], '/'), 'sling:Folder');
	END LOOP;
	IF made THEN
		INSERT INTO repo.home (principal, node) SELECT p.id, t.id
			FROM auth.principal_public p, repo.tree t WHERE p.name = home_make.name AND t.path = wanted;
	END IF;
	RETURN made;
END $$;

-- As in 0001, and who is added must be able to log in afterwards: a session carries 512 principals, the
-- user, everyone and 510 groups. A group is counted without its members, who may be in other groups as
-- well: that they can log in is looked at when they do.
CREATE OR REPLACE FUNCTION auth.membership_add(group_name text, member_name text) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	group_id  bigint := auth.principal_id($1);
	member_id bigint := auth.principal_id($2);
BEGIN
	IF group_id = 3 OR (SELECT p.class FROM auth.principal p WHERE p.id = group_id) <> 'group' THEN
		RAISE EXCEPTION '"%" cannot have members', $1 USING ERRCODE = 'wrong_object_type';
	END IF;
	LOCK TABLE auth.membership IN SHARE ROW EXCLUSIVE MODE;
	IF EXISTS (
		WITH RECURSIVE above(id) AS (
			SELECT group_id
			UNION
			SELECT m.grp FROM auth.membership m JOIN above a ON m.member = a.id)
		SELECT FROM above WHERE id = member_id)
	THEN
		RAISE EXCEPTION '"%" in "%" would close a cycle', $2, $1 USING ERRCODE = 'check_violation';
	ELSIF (
		WITH RECURSIVE above(id) AS (
			VALUES (group_id), (member_id)
			UNION
			SELECT m.grp FROM auth.membership m JOIN above a ON m.member = a.id)
		SELECT count(*) FROM above a JOIN auth.principal p ON p.id = a.id
			WHERE p.class = 'group' AND p.id <> 3) > 510
	THEN
		RAISE EXCEPTION '"%" would be in more than 510 groups', $2
			USING ERRCODE = 'program_limit_exceeded';
	END IF;
	INSERT INTO auth.membership (member, grp) VALUES (member_id, group_id) ON CONFLICT DO NOTHING;
	IF NOT FOUND THEN
		RETURN false;
	END IF;
	PERFORM auth.journal_write(member_id, 'membership');
	RETURN true;
END $$;

-- Whose lists of their own count is held in memory with all entries: see repo.generation.
CREATE FUNCTION auth.service_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM repo.acl_raise();
	RETURN NULL;
END $$;
CREATE TRIGGER service_added AFTER INSERT ON auth.principal
	FOR EACH ROW WHEN (NEW.class = 'service') EXECUTE FUNCTION auth.service_changed();
CREATE TRIGGER service_moved AFTER UPDATE OF path ON auth.principal
	FOR EACH ROW WHEN (NEW.class = 'service') EXECUTE FUNCTION auth.service_changed();

-- ---- privileges ----

-- Those that only the repository's own list can grant.
CREATE FUNCTION repo.repository_privileges() RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
	SELECT '{jcr:workspaceManagement,jcr:nodeTypeDefinitionManagement,jcr:namespaceManagement,rep:privilegeManagement}'::text[];
$$;

-- As in 0004, with the repository's.
CREATE OR REPLACE FUNCTION repo.privilege_parts(name text) RETURNS text[]
LANGUAGE plpgsql STABLE AS $$
DECLARE
	modify CONSTANT text[] := '{rep:addProperties,rep:alterProperties,rep:removeProperties}';
	write  CONSTANT text[] := modify
		|| '{jcr:addChildNodes,jcr:removeChildNodes,jcr:removeNode}'::text[];
BEGIN
	RETURN CASE
	WHEN name IN ('rep:readNodes', 'rep:readProperties', 'rep:addProperties',
			'rep:alterProperties', 'rep:removeProperties', 'jcr:addChildNodes',
			'jcr:removeChildNodes', 'jcr:removeNode', 'jcr:nodeTypeManagement',
			'jcr:readAccessControl', 'jcr:modifyAccessControl', 'jcr:versionManagement',
			'jcr:lockManagement', 'jcr:lifecycleManagement', 'jcr:retentionManagement',
			'rep:userManagement', 'rep:indexDefinitionManagement', 'jcr:all')
		OR name = ANY (repo.repository_privileges()) THEN ARRAY[name]
	WHEN name = 'jcr:read' THEN '{rep:readNodes,rep:readProperties}'
	WHEN name = 'jcr:modifyProperties' THEN modify
	WHEN name = 'jcr:write' THEN write
	WHEN name = 'rep:write' THEN write || '{jcr:nodeTypeManagement}'::text[]
	ELSE (SELECT p.leaves FROM repo.privilege p WHERE p.name = privilege_parts.name)
	END;
END $$;

-- As in 0004, for an entry of the repository's list or of a node's.
CREATE FUNCTION repo.privilege_leaves(names text[], of_repository boolean) RETURNS text[]
LANGUAGE plpgsql STABLE AS $$
DECLARE
	leaves text[] := '{}';
	parts  text[];
	wanted text;
BEGIN
	IF names IS NULL OR cardinality(names) = 0 THEN
		RAISE EXCEPTION 'no privilege' USING ERRCODE = 'invalid_parameter_value';
	END IF;
	FOREACH wanted IN ARRAY names LOOP
		parts := repo.privilege_parts(wanted);
		IF parts IS NULL THEN
			RAISE EXCEPTION 'unknown privilege: "%"', wanted
				USING ERRCODE = 'invalid_parameter_value';
		ELSIF parts && repo.repository_privileges() AND NOT of_repository THEN
			RAISE EXCEPTION 'privilege of the whole repository, not of a node: "%"', wanted
				USING ERRCODE = 'invalid_parameter_value';
		ELSIF EXISTS (SELECT FROM repo.privilege p
				WHERE p.name = wanted AND p.abstract) THEN
			RAISE EXCEPTION 'abstract privilege: "%"', wanted
				USING ERRCODE = 'invalid_parameter_value';
		END IF;
		leaves := leaves || parts;
	END LOOP;
	IF 'jcr:all' = ANY (leaves) THEN
		RETURN '{jcr:all}';
	END IF;
	RETURN ARRAY (SELECT DISTINCT l FROM unnest(leaves) l ORDER BY l);
END $$;

CREATE OR REPLACE FUNCTION repo.privilege_leaves(names text[]) RETURNS text[]
LANGUAGE sql STABLE AS $$
	SELECT repo.privilege_leaves(names, false);
$$;

-- As in 0004, for an entry of the repository's list or of a node's.
CREATE FUNCTION repo.privilege_minus(a text[], b text[], of_repository boolean) RETURNS text[]
LANGUAGE plpgsql STABLE AS $$
BEGIN
	IF b = '{jcr:all}' THEN
		RETURN '{}';
	ELSIF a = '{jcr:all}' THEN
		a := repo.privilege_leaves('{jcr:read,rep:write,jcr:readAccessControl,
			jcr:modifyAccessControl,jcr:versionManagement,jcr:lockManagement,
			jcr:lifecycleManagement,jcr:retentionManagement,rep:userManagement,
			rep:indexDefinitionManagement}')
			|| ARRAY (SELECT p.name FROM repo.privilege p WHERE p.parts = '{}')
			|| CASE WHEN of_repository THEN repo.repository_privileges() ELSE '{}' END;
	END IF;
	RETURN ARRAY (SELECT l FROM unnest(a) l WHERE l <> ALL (b) ORDER BY l);
END $$;
DROP FUNCTION repo.privilege_minus(text[], text[]);

-- As in 0004, but for the number of privileges: each without parts is one of the 64 bits that repo
-- keeps of an entry, of which 21 are taken.
CREATE OR REPLACE FUNCTION repo.privilege_register(name text, abstract boolean, parts text[])
RETURNS boolean LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
	wanted CONSTANT text[] := ARRAY (SELECT DISTINCT p FROM unnest(parts) p ORDER BY p);
	leaves text[] := '{}';
	old    repo.privilege;
	twin   text;
	part   text;
BEGIN
	PERFORM repo.name_check(name);
	SELECT * INTO old FROM repo.privilege p WHERE p.name = name;
	IF old.name IS NOT NULL AND old.abstract = abstract AND old.parts = wanted THEN
		RETURN false;
	ELSIF repo.privilege_parts(name) IS NOT NULL THEN
		RAISE EXCEPTION 'privilege "%" is there and is another one', name
			USING ERRCODE = 'unique_violation';
	END IF;
	FOREACH part IN ARRAY wanted LOOP
		IF repo.privilege_parts(part) IS NULL THEN
			RAISE EXCEPTION 'unknown privilege: "%"', part
				USING ERRCODE = 'invalid_parameter_value';
		END IF;
		leaves := leaves || repo.privilege_parts(part);
	END LOOP;
	SELECT p.name INTO twin FROM repo.privilege p WHERE wanted <> '{}' AND p.parts = wanted;
	IF twin IS NOT NULL THEN
		RAISE EXCEPTION 'privilege "%" has the same parts', twin USING ERRCODE = 'unique_violation';
	END IF;
	PERFORM repo.acl_raise();
	IF wanted = '{}' THEN
		leaves := ARRAY[name];
		IF (SELECT count(*) FROM repo.privilege p WHERE p.parts = '{}') >= 43 THEN
			RAISE EXCEPTION 'more than 43 privileges without parts'
				USING ERRCODE = 'program_limit_exceeded';
		END IF;
	END IF;
	INSERT INTO repo.privilege VALUES (name, abstract, wanted,
		ARRAY (SELECT DISTINCT l FROM unnest(leaves) l ORDER BY l));
	RETURN true;
END $$;

-- ---- entries of nodes, and of the repository ----

-- node NULL: an entry of the repository's own list. Nothing inherits it.
ALTER TABLE repo.ace ALTER node DROP NOT NULL, DROP CONSTRAINT ace_node_position_key,
	ADD CONSTRAINT ace_place UNIQUE NULLS NOT DISTINCT (node, position);
CREATE INDEX ace_list ON repo.ace (coalesce(node, 0));

-- The node of a list, its row locked; 0 for ':repository'. Editors of lists take turns.
CREATE FUNCTION repo.list_lock(path text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	node bigint := 0;
BEGIN
	IF path <> ':repository' THEN
		PERFORM repo.structure_lock(false);
		node := repo.node_lock(path, false);
	END IF;
	PERFORM repo.acl_raise();
	RETURN node;
END $$;

CREATE FUNCTION repo.ace_principal_check(principal bigint) RETURNS void LANGUAGE plpgsql STABLE AS $$
BEGIN
	IF NOT EXISTS (SELECT FROM auth.principal_public p WHERE p.id = principal) THEN
		RAISE EXCEPTION 'no such principal: %', principal USING ERRCODE = 'foreign_key_violation';
	ELSIF principal = 1 THEN
		RAISE EXCEPTION 'the administrator needs no entry and gets none'
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
END $$;

-- As in 0005, also for the repository's list, whose entries have no restrictions: none would hold.
CREATE OR REPLACE FUNCTION repo.ace_append(path text, principal bigint, allow boolean,
	privileges text[], restrictions jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
	who      CONSTANT bigint := ace_append.principal;
	kind     CONSTANT boolean := ace_append.allow;
	whole    CONSTANT boolean := ace_append.path = ':repository';
	leaves   CONSTANT text[] := repo.privilege_leaves(ace_append.privileges, whole);
	limits   CONSTANT jsonb := repo.restrictions_check(ace_append.restrictions);
	list     bigint;
	same     repo.ace;
	opposite repo.ace;
	changed  boolean := false;
BEGIN
	IF kind IS NULL THEN
		RAISE EXCEPTION 'neither allow nor deny' USING ERRCODE = 'invalid_parameter_value';
	ELSIF whole AND limits <> '{}' THEN
		RAISE EXCEPTION 'the list of the repository has no restrictions'
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	PERFORM repo.ace_principal_check(who);
	list := repo.list_lock(ace_append.path);
	SELECT * INTO same FROM repo.ace WHERE coalesce(node, 0) = list AND principal = who
		AND allow = kind AND restrictions = limits;
	SELECT * INTO opposite FROM repo.ace WHERE coalesce(node, 0) = list
		AND principal = who AND allow <> kind AND restrictions = limits;
	IF opposite.privileges && leaves OR '{jcr:all}' IN (opposite.privileges, leaves)
			AND opposite.id IS NOT NULL THEN
		changed := true;
		IF repo.privilege_minus(opposite.privileges, leaves, whole) = '{}' THEN
			DELETE FROM repo.ace WHERE id = opposite.id;
		ELSE
			UPDATE repo.ace SET privileges = repo.privilege_minus(opposite.privileges, leaves, whole)
				WHERE id = opposite.id;
		END IF;
	END IF;
	IF same.id IS NULL THEN
		changed := true;
		INSERT INTO repo.ace (node, position, principal, allow, privileges, restrictions)
			SELECT nullif(list, 0), coalesce(max(position), 0) + 1, who, kind, leaves, limits
			FROM repo.ace WHERE coalesce(node, 0) = list;
	ELSIF same.privileges <> '{jcr:all}' AND NOT same.privileges @> leaves THEN
		changed := true;
		UPDATE repo.ace SET privileges = repo.privilege_leaves(same.privileges || leaves, whole)
			WHERE id = same.id;
	END IF;
	IF changed THEN
		PERFORM repo.journal_write('ACL', ace_append.path);
	END IF;
	RETURN changed;
END $$;

-- As in 0005, also for the repository's list.
CREATE OR REPLACE FUNCTION repo.ace_remove(path text, principal bigint, allow boolean,
	privileges text[], restrictions jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
	leaves  CONSTANT text[] := repo.privilege_leaves(ace_remove.privileges,
		ace_remove.path = ':repository');
	limits  CONSTANT jsonb := repo.restrictions_check(ace_remove.restrictions);
	list    bigint;
BEGIN
	list := repo.list_lock(ace_remove.path);
	DELETE FROM repo.ace WHERE coalesce(node, 0) = list
		AND principal = ace_remove.principal AND allow = ace_remove.allow
		AND privileges = leaves AND restrictions = limits;
	IF NOT FOUND THEN
		RETURN false;
	END IF;
	PERFORM repo.journal_write('ACL', ace_remove.path);
	RETURN true;
END $$;

-- As in 0002, also for the repository's list.
CREATE OR REPLACE FUNCTION repo.ace_remove_all(path text, principal bigint) RETURNS integer
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
	list    bigint := repo.list_lock(ace_remove_all.path);
	removed integer;
BEGIN
	DELETE FROM repo.ace WHERE coalesce(node, 0) = list
		AND principal = ace_remove_all.principal;
	GET DIAGNOSTICS removed = ROW_COUNT;
	IF removed > 0 THEN
		PERFORM repo.journal_write('ACL', ace_remove_all.path);
	END IF;
	RETURN removed;
END $$;

-- As in 0004, also for the repository's list.
CREATE OR REPLACE FUNCTION repo.acl_delete(path text) RETURNS integer LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
	list    bigint := repo.list_lock(acl_delete.path);
	removed integer;
BEGIN
	DELETE FROM repo.ace WHERE coalesce(node, 0) = list;
	GET DIAGNOSTICS removed = ROW_COUNT;
	IF removed > 0 THEN
		PERFORM repo.journal_write('ACL', acl_delete.path);
	END IF;
	RETURN removed;
END $$;

-- ---- lists of service users' own ----

-- What one may do wherever it is used as one of a list of principals, and nobody else is (Jackrabbit
-- Oak, principal-based authorization). Only grants. path: a text that need not be a node's and does
-- not follow one that moves, or ':repository'.
CREATE TABLE repo.own_ace (
	id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	principal    bigint NOT NULL,
	position     integer NOT NULL,
	path         text COLLATE "C" NOT NULL,
	privileges   text[] NOT NULL CHECK (privileges <> '{}'),
	restrictions jsonb NOT NULL DEFAULT '{}',
	UNIQUE (principal, position),
	UNIQUE (principal, path, restrictions)
);
GRANT SELECT ON repo.own_ace TO boardwalk_repo;
GRANT SELECT ON repo.privilege TO boardwalk_repo;

-- Takes the editors' lock. A list is kept under the account's own node: that is the path of its news.
CREATE FUNCTION repo.own_list_lock(principal bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	whose auth.principal_public;
BEGIN
	SELECT * INTO whose FROM auth.principal_public p WHERE p.id = own_list_lock.principal;
	IF whose.own_list IS NOT TRUE THEN
		RAISE EXCEPTION 'not a service user below /home/users/system: "%"',
			coalesce(whose.name, principal::text) USING ERRCODE = 'wrong_object_type';
	END IF;
	PERFORM repo.acl_raise();
	RETURN repo.home_path(whose.name);
END $$;

-- Merged into the entry of the same path and restrictions. False: that one grants it already.
CREATE FUNCTION repo.own_ace_append(principal bigint, path text, privileges text[],
	restrictions jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
	who    CONSTANT bigint := own_ace_append.principal;
	place  CONSTANT text := own_ace_append.path;
	whole  CONSTANT boolean := place = ':repository';
	leaves CONSTANT text[] := repo.privilege_leaves(own_ace_append.privileges, whole);
	limits CONSTANT jsonb := repo.restrictions_check(own_ace_append.restrictions);
	home   text;
	same   repo.own_ace;
BEGIN
	IF whole AND limits <> '{}' THEN
		RAISE EXCEPTION 'an entry of the whole repository has no restrictions'
			USING ERRCODE = 'invalid_parameter_value';
	ELSIF NOT whole THEN
		PERFORM repo.path_check(place);
	END IF;
	home := repo.own_list_lock(who);
	SELECT * INTO same FROM repo.own_ace
		WHERE principal = who AND path = place AND restrictions = limits;
	IF same.id IS NULL THEN
		INSERT INTO repo.own_ace (principal, position, path, privileges, restrictions)
			SELECT who, coalesce(max(position), 0) + 1, place, leaves, limits
			FROM repo.own_ace WHERE principal = who;
	ELSIF same.privileges = '{jcr:all}' OR same.privileges @> leaves THEN
		RETURN false;
	ELSE
		UPDATE repo.own_ace SET privileges = repo.privilege_leaves(same.privileges || leaves, whole)
			WHERE id = same.id;
	END IF;
	PERFORM repo.journal_write('ACL', home);
	RETURN true;
END $$;

-- The entry that is exactly this. False: there is none.
CREATE FUNCTION repo.own_ace_remove(principal bigint, path text, privileges text[],
	restrictions jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
	leaves CONSTANT text[] := repo.privilege_leaves(own_ace_remove.privileges,
		own_ace_remove.path = ':repository');
	limits CONSTANT jsonb := repo.restrictions_check(own_ace_remove.restrictions);
	home   CONSTANT text := repo.own_list_lock(own_ace_remove.principal);
BEGIN
	DELETE FROM repo.own_ace WHERE principal = own_ace_remove.principal
		AND path = own_ace_remove.path AND privileges = leaves AND restrictions = limits;
	IF NOT FOUND THEN
		RETURN false;
	END IF;
	PERFORM repo.journal_write('ACL', home);
	RETURN true;
END $$;

-- A whole list; how many entries it had.
CREATE FUNCTION repo.own_acl_delete(principal bigint) RETURNS integer LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
	home    CONSTANT text := repo.own_list_lock(own_acl_delete.principal);
	removed integer;
BEGIN
	DELETE FROM repo.own_ace WHERE principal = own_acl_delete.principal;
	GET DIAGNOSTICS removed = ROW_COUNT;
	IF removed > 0 THEN
		PERFORM repo.journal_write('ACL', home);
	END IF;
	RETURN removed;
END $$;

-- ---- the end of an account ----

-- As in 0004, for all lists of nodes and that of the repository; how many paths that were.
CREATE OR REPLACE FUNCTION repo.ace_forget(principal bigint) RETURNS integer LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
	gone text[];
BEGIN
	PERFORM repo.structure_lock(false), repo.acl_raise();
	WITH removed AS (
		DELETE FROM repo.ace WHERE principal = ace_forget.principal RETURNING node)
	SELECT array_agg(DISTINCT coalesce(t.path, ':repository')) INTO gone
		FROM removed r LEFT JOIN repo.tree t ON t.id = r.node;
	PERFORM repo.journal_write('ACL', p) FROM (SELECT p FROM unnest(gone) p ORDER BY p) d;
	RETURN coalesce(cardinality(gone), 0);
END $$;

-- As in 0004, with its own list and its node.
CREATE OR REPLACE FUNCTION auth.principal_delete(name text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	of_id bigint := auth.principal_id($1);
	home  text;
BEGIN
	IF of_id < 100 THEN
		RAISE EXCEPTION '"%" is not deleted', $1 USING ERRCODE = 'wrong_object_type';
	END IF;
	SELECT t.path INTO home FROM repo.home h JOIN repo.tree t ON t.id = h.node
		WHERE h.principal = of_id;
	LOCK TABLE auth.membership IN SHARE ROW EXCLUSIVE MODE;
	DELETE FROM auth.membership m WHERE of_id IN (m.member, m.grp);
	DELETE FROM auth.credential c WHERE c.principal = of_id;
	DELETE FROM auth.principal p WHERE p.id = of_id;
	PERFORM auth.journal_write(of_id, 'deleted');
	IF home IS NOT NULL THEN
		PERFORM repo.node_delete(home);
	END IF;
	PERFORM repo.ace_forget(of_id);
	DELETE FROM repo.own_ace o WHERE o.principal = of_id;
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA repo FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA auth FROM PUBLIC;
