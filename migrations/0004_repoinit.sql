-- 0004_repoinit.sql - what the rest of the repoinit language changes: namespaces, privileges of one's
-- own, mixins, single entries and whole lists, groups, and the end of accounts.
--
-- Locks and time: two new tables, two columns without a default and one constraint on small tables of
-- schema auth; a few milliseconds. Undo: DROP TABLE repo.namespace, repo.privilege; the columns
-- auth.principal.path and .reason; and the functions below as 0001 and 0002 have them.
--
-- As in 0001 and 0002, what writes is a function here and writes its journal row; only the owner may
-- execute them.

-- ---- namespaces ----

-- Names of nodes and properties may begin with these prefixes (JCR 2.0 section 3.2.5).
CREATE TABLE repo.namespace (
	prefix text COLLATE "C" PRIMARY KEY,
	uri    text COLLATE "C" NOT NULL UNIQUE
);
INSERT INTO repo.namespace (prefix, uri) VALUES
	('jcr', 'http://www.jcp.org/jcr/1.0'),
	('nt', 'http://www.jcp.org/jcr/nt/1.0'),
	('mix', 'http://www.jcp.org/jcr/mix/1.0'),
	('xml', 'http://www.w3.org/XML/1998/namespace'),
	('rep', 'internal'),
	('oak', 'http://jackrabbit.apache.org/oak/ns/1.0'),
	('sling', 'http://sling.apache.org/jcr/sling/1.0');

-- As in 0002, but for the prefixes, which a table holds now.
CREATE OR REPLACE FUNCTION repo.name_check(name text) RETURNS void LANGUAGE plpgsql STABLE AS $$
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
	ELSIF name LIKE '%:%' AND NOT EXISTS (SELECT FROM repo.namespace n
			WHERE n.prefix = split_part(name_check.name, ':', 1)) THEN
		RAISE EXCEPTION 'namespace prefix not registered: "%"', name
			USING ERRCODE = 'invalid_name';
	END IF;
END $$;
ALTER FUNCTION repo.path_check(text) STABLE;

-- False: registered as wanted already. A prefix or URI in other use is refused: names that are stored
-- would change their meaning.
CREATE FUNCTION repo.namespace_register(prefix text, uri text) RETURNS boolean
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
	old_uri    text;
	old_prefix text;
BEGIN
	IF prefix !~ '^[A-Za-z_][A-Za-z0-9_.-]{0,63}$' OR prefix ~* '^xml' AND prefix <> 'xml' THEN
		RAISE EXCEPTION 'not a prefix: "%"', left(prefix, 80) USING ERRCODE = 'invalid_name';
	ELSIF octet_length(uri) NOT BETWEEN 1 AND 2048 OR uri ~ '[\u0001-\u001f\u007f-\u009f]' THEN
		RAISE EXCEPTION 'a URI has 1 to 2048 octets and no controls'
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	SELECT n.uri INTO old_uri FROM repo.namespace n WHERE n.prefix = prefix;
	SELECT n.prefix INTO old_prefix FROM repo.namespace n WHERE n.uri = uri;
	IF old_uri = uri THEN
		RETURN false;
	ELSIF old_uri IS NOT NULL THEN
		RAISE EXCEPTION 'prefix "%" stands for "%"', prefix, old_uri
			USING ERRCODE = 'unique_violation';
	ELSIF old_prefix IS NOT NULL THEN
		RAISE EXCEPTION '"%" has the prefix "%"', uri, old_prefix USING ERRCODE = 'unique_violation';
	END IF;
	INSERT INTO repo.namespace VALUES (prefix, uri);
	RETURN true;
END $$;

-- ---- privileges ----

-- Registered ones. leaves: what an entry with it holds; of one without parts itself.
CREATE TABLE repo.privilege (
	name     text COLLATE "C" PRIMARY KEY,
	abstract boolean NOT NULL,
	parts    text[] NOT NULL, -- as registered, sorted
	leaves   text[] NOT NULL
);

-- The leaves of one privilege; NULL: there is none of that name.
CREATE FUNCTION repo.privilege_parts(name text) RETURNS text[] LANGUAGE plpgsql STABLE AS $$
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
			'rep:userManagement', 'rep:indexDefinitionManagement', 'jcr:all') THEN ARRAY[name]
	WHEN name = 'jcr:read' THEN '{rep:readNodes,rep:readProperties}'
	WHEN name = 'jcr:modifyProperties' THEN modify
	WHEN name = 'jcr:write' THEN write
	WHEN name = 'rep:write' THEN write || '{jcr:nodeTypeManagement}'::text[]
	ELSE (SELECT p.leaves FROM repo.privilege p WHERE p.name = privilege_parts.name)
	END;
END $$;

-- Privileges as their leaves, sorted; jcr:all absorbs the rest and stays, since it includes what is
-- registered later. As in 0002, with those that are registered.
CREATE OR REPLACE FUNCTION repo.privilege_leaves(names text[]) RETURNS text[]
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
		IF wanted IN ('jcr:workspaceManagement', 'jcr:nodeTypeDefinitionManagement',
				'jcr:namespaceManagement', 'rep:privilegeManagement') THEN
			RAISE EXCEPTION 'privilege of the whole repository, not of a node: "%"', wanted
				USING ERRCODE = 'invalid_parameter_value';
		ELSIF parts IS NULL THEN
			RAISE EXCEPTION 'unknown privilege: "%"', wanted
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

-- a without b. What is left of jcr:all is the list of its present leaves.
CREATE OR REPLACE FUNCTION repo.privilege_minus(a text[], b text[]) RETURNS text[]
LANGUAGE plpgsql STABLE AS $$
BEGIN
	IF b = '{jcr:all}' THEN
		RETURN '{}';
	ELSIF a = '{jcr:all}' THEN
		a := repo.privilege_leaves('{jcr:read,rep:write,jcr:readAccessControl,
			jcr:modifyAccessControl,jcr:versionManagement,jcr:lockManagement,
			jcr:lifecycleManagement,jcr:retentionManagement,rep:userManagement,
			rep:indexDefinitionManagement}')
			|| ARRAY (SELECT p.name FROM repo.privilege p WHERE p.parts = '{}');
	END IF;
	RETURN ARRAY (SELECT l FROM unnest(a) l WHERE l <> ALL (b) ORDER BY l);
END $$;

-- False: registered as wanted already. Parts exist before the whole does, hence no cycles.
CREATE FUNCTION repo.privilege_register(name text, abstract boolean, parts text[]) RETURNS boolean
LANGUAGE plpgsql AS $$
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
	ELSIF repo.privilege_parts(name) IS NOT NULL OR name IN ('jcr:workspaceManagement',
			'jcr:nodeTypeDefinitionManagement', 'jcr:namespaceManagement',
			'rep:privilegeManagement') THEN
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
	IF wanted = '{}' THEN
		leaves := ARRAY[name];
	END IF;
	INSERT INTO repo.privilege VALUES (name, abstract, wanted,
		ARRAY (SELECT DISTINCT l FROM unnest(leaves) l ORDER BY l));
	RETURN true;
END $$;

-- ---- types ----

-- What a child of this node is that nobody names a type for.
CREATE FUNCTION repo.child_type(parent text) RETURNS text LANGUAGE sql STABLE AS $$
	SELECT coalesce((SELECT t.primary_type FROM repo.tree t
		WHERE t.path = child_type.parent AND t.primary_type = 'nt:unstructured'), 'sling:Folder');
$$;

-- False: it has this type.
CREATE FUNCTION repo.node_type_set(path text, primary_type text) RETURNS boolean
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
	node bigint;
BEGIN
	PERFORM repo.node_type_check(node_type_set.primary_type);
	node := repo.node_lock(node_type_set.path, false);
	UPDATE repo.tree SET primary_type = node_type_set.primary_type
		WHERE id = node AND primary_type <> node_type_set.primary_type;
	IF NOT FOUND THEN
		RETURN false;
	END IF;
	UPDATE repo.content SET version = version + 1, modified = now() WHERE id = node;
	PERFORM repo.journal_write('CHANGED', node_type_set.path, '{jcr:primaryType}');
	RETURN true;
END $$;

-- Only mixins that mean no more than the properties that come with them, if any: there are neither
-- versions nor locks, and lists of entries do not need one.
CREATE FUNCTION repo.mixin_check(mixin text) RETURNS void LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	IF mixin IN ('mix:versionable', 'mix:simpleVersionable', 'mix:lockable',
			'rep:AccessControllable') THEN
		RAISE EXCEPTION 'mixin without a meaning in this version: "%"', mixin
			USING ERRCODE = 'feature_not_supported';
	ELSIF mixin IS NULL OR mixin NOT IN ('mix:created', 'mix:lastModified', 'mix:title',
			'mix:mimeType', 'mix:referenceable', 'sling:Resource', 'sling:ResourceSuperType',
			'sling:VanityPath', 'sling:Redirect', 'sling:ResourceAlias') THEN
		RAISE EXCEPTION 'unknown mixin: "%"', mixin USING ERRCODE = 'invalid_parameter_value';
	END IF;
END $$;

-- The properties a mixin creates with itself (JCR 2.0 section 3.7.10).
CREATE FUNCTION repo.mixin_properties(mixin text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	today CONSTANT jsonb := jsonb_build_object('date',
		to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'));
BEGIN
	RETURN CASE mixin
	WHEN 'mix:created' THEN
		jsonb_build_object('jcr:created', today, 'jcr:createdBy', '{"s":"admin"}'::jsonb)
	WHEN 'mix:lastModified' THEN
		jsonb_build_object('jcr:lastModified', today, 'jcr:lastModifiedBy', '{"s":"admin"}'::jsonb)
	WHEN 'mix:referenceable' THEN
		jsonb_build_object('jcr:uuid', jsonb_build_object('s', gen_random_uuid()::text))
	ELSE '{}'::jsonb
	END;
END $$;

-- False: it has this mixin. A node's mixins are its property jcr:mixinTypes, in the order they came;
-- properties that are there already stay as they are.
CREATE FUNCTION repo.mixin_add(path text, mixin text) RETURNS boolean LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
	node  bigint;
	props jsonb;
	old   jsonb;
BEGIN
	PERFORM repo.mixin_check(mixin);
	node := repo.node_lock(path, true);
	SELECT c.properties INTO old FROM repo.content c WHERE c.id = node;
	IF old -> 'jcr:mixinTypes' -> 'name' ? mixin THEN
		RETURN false;
	END IF;
	props := repo.mixin_properties(mixin) || old || jsonb_build_object('jcr:mixinTypes',
		jsonb_build_object('name', coalesce(old -> 'jcr:mixinTypes' -> 'name', '[]') || to_jsonb(mixin)));
	IF EXISTS (SELECT FROM jsonb_object_keys(props - ARRAY (SELECT jsonb_object_keys(old))) k
			JOIN repo.tree t ON t.parent = node AND t.name = k) THEN
		RAISE EXCEPTION 'a child has the name of a property of "%": "%"', mixin, path
			USING ERRCODE = 'unique_violation';
	ELSIF octet_length(props::text) > 131072 THEN
		RAISE EXCEPTION 'properties of more than 128 KiB: "%"', path
			USING ERRCODE = 'program_limit_exceeded';
	END IF;
	UPDATE repo.content c SET properties = props, version = c.version + 1, modified = now()
		WHERE c.id = node;
	PERFORM repo.journal_write('CHANGED', path, ARRAY['jcr:mixinTypes'] || ARRAY (
		SELECT jsonb_object_keys(props - ARRAY (SELECT jsonb_object_keys(old)) - 'jcr:mixinTypes')));
	RETURN true;
END $$;

-- False: it did not have it. Its properties stay: every type here allows them without it.
CREATE FUNCTION repo.mixin_remove(path text, mixin text) RETURNS boolean LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
	node bigint;
	left_over jsonb;
BEGIN
	PERFORM repo.mixin_check(mixin);
	node := repo.node_lock(path, false);
	SELECT c.properties -> 'jcr:mixinTypes' -> 'name' INTO left_over FROM repo.content c
		WHERE c.id = node;
	IF left_over IS NULL OR NOT left_over ? mixin THEN
		RETURN false;
	END IF;
	left_over := left_over - mixin;
	UPDATE repo.content c SET version = c.version + 1, modified = now(),
		properties = CASE WHEN left_over = '[]' THEN c.properties - 'jcr:mixinTypes'
			ELSE c.properties || jsonb_build_object('jcr:mixinTypes',
				jsonb_build_object('name', left_over)) END
		WHERE c.id = node;
	PERFORM repo.journal_write('CHANGED', path, '{jcr:mixinTypes}');
	RETURN true;
END $$;

-- ---- entries ----

-- The entry that is exactly this. False: there is none.
CREATE FUNCTION repo.ace_remove(path text, principal bigint, allow boolean, privileges text[])
RETURNS boolean LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
	leaves  CONSTANT text[] := repo.privilege_leaves(ace_remove.privileges);
	node_id bigint;
BEGIN
	PERFORM repo.structure_lock(false);
	node_id := repo.node_lock(ace_remove.path, false);
	PERFORM repo.acl_raise();
	DELETE FROM repo.ace WHERE node = node_id AND principal = ace_remove.principal
		AND allow = ace_remove.allow AND privileges = leaves;
	IF NOT FOUND THEN
		RETURN false;
	END IF;
	PERFORM repo.journal_write('ACL', ace_remove.path);
	RETURN true;
END $$;

-- A node's whole list; how many entries there were.
CREATE FUNCTION repo.acl_delete(path text) RETURNS integer LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
	node_id bigint;
	removed integer;
BEGIN
	PERFORM repo.structure_lock(false);
	node_id := repo.node_lock(acl_delete.path, false);
	PERFORM repo.acl_raise();
	DELETE FROM repo.ace WHERE node = node_id;
	GET DIAGNOSTICS removed = ROW_COUNT;
	IF removed > 0 THEN
		PERFORM repo.journal_write('ACL', acl_delete.path);
	END IF;
	RETURN removed;
END $$;

-- All entries of one principal on all nodes; how many there were.
CREATE FUNCTION repo.ace_forget(principal bigint) RETURNS integer LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
	gone text[];
BEGIN
	PERFORM repo.structure_lock(false), repo.acl_raise();
	WITH removed AS (
		DELETE FROM repo.ace WHERE principal = ace_forget.principal RETURNING node)
	SELECT array_agg(t.path ORDER BY t.path) INTO gone
		FROM removed r JOIN repo.tree t ON t.id = r.node;
	PERFORM repo.journal_write('ACL', p) FROM (
		SELECT DISTINCT p FROM unnest(gone) p ORDER BY p) d;
	RETURN coalesce(cardinality(gone), 0);
END $$;

-- ---- accounts ----

-- path: where a script said that the account lives, its own name included. reason: of its disabling.
ALTER TABLE auth.principal ADD COLUMN path text, ADD COLUMN reason text;
ALTER TABLE auth.principal ADD CONSTRAINT principal_reason
	CHECK (reason IS NULL OR disabled AND octet_length(reason) <= 1024);
ALTER TABLE auth.journal DROP CONSTRAINT journal_kind_check;
ALTER TABLE auth.journal ADD CONSTRAINT journal_kind_check
	CHECK (kind IN ('created', 'password', 'disabled', 'membership', 'deleted'));

CREATE FUNCTION auth.principal_place(name text, path text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	of_id bigint := auth.principal_id($1);
BEGIN
	PERFORM repo.path_check($2);
	UPDATE auth.principal p SET path = $2 WHERE p.id = of_id;
END $$;

-- An account that is enabled again has no reason.
CREATE OR REPLACE FUNCTION auth.principal_disable(name text, disabled boolean) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	of_id bigint := auth.principal_id($1);
BEGIN
	UPDATE auth.principal p SET disabled = $2, reason = NULL WHERE p.id = of_id AND p.disabled <> $2;
	IF FOUND THEN
		PERFORM auth.journal_write(of_id, 'disabled');
	END IF;
END $$;

-- The same with a reason, which replaces that of before. False: nothing changed.
CREATE FUNCTION auth.principal_disable(name text, reason text) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	of_id bigint := auth.principal_id($1);
	was   auth.principal;
BEGIN
	SELECT * INTO was FROM auth.principal p WHERE p.id = of_id FOR UPDATE;
	IF was.class = 'group' THEN
		RAISE EXCEPTION '"%" is a group', $1 USING ERRCODE = 'wrong_object_type';
	ELSIF was.disabled AND was.reason IS NOT DISTINCT FROM $2 THEN
		RETURN false;
	END IF;
	UPDATE auth.principal p SET disabled = true, reason = $2 WHERE p.id = of_id;
	IF NOT was.disabled THEN
		PERFORM auth.journal_write(of_id, 'disabled');
	END IF;
	RETURN true;
END $$;

-- With its password, its memberships, its members' memberships and all its entries. The three that
-- every database begins with stay.
CREATE FUNCTION auth.principal_delete(name text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	of_id bigint := auth.principal_id($1);
BEGIN
	IF of_id < 100 THEN
		RAISE EXCEPTION '"%" is not deleted', $1 USING ERRCODE = 'wrong_object_type';
	END IF;
	LOCK TABLE auth.membership IN SHARE ROW EXCLUSIVE MODE;
	DELETE FROM auth.membership m WHERE of_id IN (m.member, m.grp);
	DELETE FROM auth.credential c WHERE c.principal = of_id;
	DELETE FROM auth.principal p WHERE p.id = of_id;
	PERFORM auth.journal_write(of_id, 'deleted');
	PERFORM repo.ace_forget(of_id);
END $$;

-- False: it was no member.
CREATE FUNCTION auth.membership_remove(group_name text, member_name text) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	group_id  bigint := auth.principal_id($1);
	member_id bigint := auth.principal_id($2);
BEGIN
	IF group_id = 3 OR (SELECT p.class FROM auth.principal p WHERE p.id = group_id) <> 'group' THEN
		RAISE EXCEPTION '"%" cannot have members', $1 USING ERRCODE = 'wrong_object_type';
	END IF;
	DELETE FROM auth.membership m WHERE m.member = member_id AND m.grp = group_id;
	IF NOT FOUND THEN
		RETURN false;
	END IF;
	PERFORM auth.journal_write(member_id, 'membership');
	RETURN true;
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA auth FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA repo FROM PUBLIC;
