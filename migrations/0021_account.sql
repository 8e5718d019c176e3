-- 0021_account.sql - users and groups managed by somebody who is logged in, and the rules about
-- accounts that hold whoever changes them.
--
-- Locks: only functions are made; milliseconds on any database. Undo: drop auth.account_change,
-- auth.account_json and auth.account_is_admin, and give membership_add the text of 0007.
--
-- Role boardwalk_auth gets two functions. Both take the id of who asks, which auth has from a handle
-- that it signed itself, and look at what that account is now: the group administrators and admin may
-- do everything, everybody else what the comments say. A gateway never comes here.

-- Administrators: admin, and who is in the group of that name, directly or through another. Nobody who
-- is disabled, no service user.
CREATE FUNCTION auth.account_is_admin(account bigint) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
	WITH RECURSIVE above(id) AS (
		SELECT m.grp FROM auth.membership m WHERE m.member = $1
		UNION
		SELECT m.grp FROM auth.membership m JOIN above a ON m.member = a.id)
	SELECT EXISTS (SELECT FROM auth.principal p WHERE p.id = $1 AND p.class = 'user' AND NOT p.disabled
		AND (p.id = 1 OR EXISTS (SELECT FROM above a JOIN auth.principal g ON g.id = a.id
			WHERE g.name = 'administrators')));
$$;

-- In place of that of 0007: anonymous belongs to everyone and to nothing else, everyone to nothing.
CREATE OR REPLACE FUNCTION auth.membership_add(group_name text, member_name text) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	group_id  bigint := auth.principal_id($1);
	member_id bigint := auth.principal_id($2);
BEGIN
	IF group_id = 3 OR (SELECT p.class FROM auth.principal p WHERE p.id = group_id) <> 'group' THEN
		RAISE EXCEPTION '"%" cannot have members', $1 USING ERRCODE = 'wrong_object_type';
	ELSIF member_id IN (2, 3) THEN
		RAISE EXCEPTION '"%" cannot belong to a group', $2 USING ERRCODE = 'wrong_object_type';
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

-- +NAME or -NAME each. False: all was so already.
CREATE FUNCTION auth.account_members(group_name text, members text[]) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	member  text;
	changed boolean := false;
BEGIN
	FOREACH member IN ARRAY $2 LOOP
		IF left(member, 1) = '+' THEN
			changed := auth.membership_add($1, substr(member, 2)) OR changed;
		ELSE
			changed := auth.membership_remove($1, substr(member, 2)) OR changed;
		END IF;
	END LOOP;
	RETURN changed;
END $$;

-- One change for who asks. what: create_user (value: the verifier, or none), create_group, password
-- (value: the verifier), disable (value: the reason, or none), enable, delete_user, delete_group,
-- members. may: auth knows that he may: he has shown his own password, or users may register
-- themselves; it opens the first two of the cases that say so, for nobody else's account. False: it was
-- so already.
CREATE FUNCTION auth.account_change(asker bigint, what text, name text, value text, members text[],
	may boolean) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	is_admin boolean := auth.account_is_admin($1);
	class    text := CASE WHEN $2 IN ('create_group', 'delete_group', 'members') THEN 'group' ELSE 'user' END;
	found    auth.principal;
BEGIN
	PERFORM set_config('boardwalk.actor',
		coalesce((SELECT p.name FROM auth.principal p WHERE p.id = $1), ''), true);
	SELECT * INTO found FROM auth.principal p WHERE p.name = $3;
	IF NOT is_admin AND NOT ($6 AND ($2 = 'create_user'
		OR $2 = 'password' AND found.id = $1 AND NOT found.disabled)) THEN
		RAISE EXCEPTION 'not permitted' USING ERRCODE = 'insufficient_privilege';
	END IF;
	IF $2 IN ('create_user', 'create_group') THEN
		PERFORM auth.principal_create($3, class);
		IF $2 = 'create_user' AND $4 IS NOT NULL THEN
			PERFORM auth.password_set($3, $4);
		END IF;
		IF $2 = 'create_group' AND $5 IS NOT NULL THEN
			PERFORM auth.account_members($3, $5);
		END IF;
		RETURN true;
	END IF;
	-- A group asked for as a user does not exist, nor the reverse; service users are the operator's.
	IF found.id IS NULL OR found.class <> class THEN
		RAISE EXCEPTION 'there is no % "%"', class, $3 USING ERRCODE = 'no_data_found';
	END IF;
	IF $2 = 'members' THEN
		RETURN auth.account_members($3, $5);
	ELSIF $2 = 'password' THEN
		PERFORM auth.password_set($3, $4);
		RETURN true;
	ELSIF $2 IN ('delete_user', 'delete_group') THEN
		PERFORM auth.principal_delete($3);
		RETURN true;
	ELSIF found.id < 100 THEN
		RAISE EXCEPTION '"%" is not disabled', $3 USING ERRCODE = 'wrong_object_type';
	ELSIF $2 = 'disable' THEN
		RETURN auth.principal_disable($3, $4);
	ELSIF $2 = 'enable' THEN
		PERFORM auth.principal_disable($3, false);
		RETURN found.disabled;
	END IF;
	RAISE EXCEPTION 'there is no such change' USING ERRCODE = 'invalid_parameter_value';
END $$;

-- Groups of one, direct or all, as Sling's user manager names them.
CREATE FUNCTION auth.account_groups(account bigint, direct boolean) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
	WITH RECURSIVE above(id, depth) AS (
		SELECT m.grp, 1 FROM auth.membership m WHERE m.member = $1
		UNION
		SELECT m.grp, 2 FROM auth.membership m JOIN above a ON m.member = a.id WHERE NOT $2)
	SELECT coalesce(jsonb_agg('/system/userManager/group/' || g.name ORDER BY g.name), '[]')
	FROM (SELECT p.name FROM auth.principal p WHERE p.id IN (SELECT a.id FROM above a)
		ORDER BY p.name LIMIT 500) g;
$$;

-- Members of a group behind that name, direct ones or all below it.
CREATE FUNCTION auth.account_below(account bigint, direct boolean, after text, most integer) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
	WITH RECURSIVE below(id, depth) AS (
		SELECT m.member, 1 FROM auth.membership m WHERE m.grp = $1
		UNION
		SELECT m.member, 2 FROM auth.membership m JOIN below b ON m.grp = b.id WHERE NOT $2)
	SELECT coalesce(jsonb_agg('/system/userManager/' || p.kind || '/' || p.name ORDER BY p.name), '[]')
	FROM (SELECT p.name, CASE p.class WHEN 'group' THEN 'group' ELSE 'user' END AS kind
		FROM auth.principal p WHERE p.id IN (SELECT b.id FROM below b)
		AND ($3 IS NULL OR p.name > $3 COLLATE "C") ORDER BY p.name LIMIT $4) p;
$$;

CREATE FUNCTION auth.account_object(p auth.principal, after text, most integer) RETURNS json
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
	SELECT CASE WHEN $1.class = 'group' THEN json_build_object(
		'members', auth.account_below($1.id, false, $2, $3),
		'declaredMembers', auth.account_below($1.id, true, $2, $3),
		'memberOf', auth.account_groups($1.id, false),
		'declaredMemberOf', auth.account_groups($1.id, true),
		'path', (SELECT h.home FROM auth.principal_public h WHERE h.id = $1.id))
	ELSE json_build_object(
		'memberOf', auth.account_groups($1.id, false),
		'declaredMemberOf', auth.account_groups($1.id, true),
		'disabled', $1.disabled, 'disabledReason', $1.reason, 'path', (SELECT h.home FROM auth.principal_public h WHERE h.id = $1.id))
	END;
$$;

-- What is known of the user or group of that name, or a page of all of them, by name. An administrator
-- sees all; everybody else himself. NULL: nothing
-- that he may see.
CREATE FUNCTION auth.account_json(asker bigint, class text, name text, after text, most integer) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	is_admin boolean := auth.account_is_admin($1);
	found    auth.principal;
	page     json;
BEGIN
	IF $3 IS NOT NULL THEN
		SELECT * INTO found FROM auth.principal p
		WHERE p.name = $3 AND (p.class = $2 OR $2 = 'user' AND p.class = 'service');
		IF found.id IS NULL OR NOT (is_admin OR found.id = $1 AND NOT found.disabled) THEN
			RETURN NULL;
		END IF;
		RETURN auth.account_object(found, $4, $5);
	END IF;
	IF NOT is_admin THEN
		RETURN NULL;
	END IF;
	SELECT json_object_agg(l.name, auth.account_object(l.p, NULL, 50) ORDER BY l.name) INTO page
	FROM (SELECT p.name, p FROM auth.principal p
		WHERE (p.class = $2 OR $2 = 'user' AND p.class = 'service')
		AND ($4 IS NULL OR p.name > $4 COLLATE "C") ORDER BY p.name LIMIT least($5, 100)) l;
	RETURN coalesce(page, '{}');
END $$;

REVOKE ALL ON FUNCTION auth.account_is_admin(bigint), auth.account_members(text, text[]),
	auth.account_change(bigint, text, text, text, text[], boolean), auth.account_groups(bigint, boolean),
	auth.account_below(bigint, boolean, text, integer),
	auth.account_object(auth.principal, text, integer),
	auth.account_json(bigint, text, text, text, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION auth.account_change(bigint, text, text, text, text[], boolean),
	auth.account_json(bigint, text, text, text, integer) TO boardwalk_auth;
