-- 0010_access.sql - edits of access control lists as changes of a commit.
--
-- Locks and time: functions only; a few milliseconds. Undo: change_strength and change_do as in 0009.
--
-- Besides those of 0009 a change may be
--    ace+     name: of the principal, allow, privileges, restrictions
--    ace-     the same: the entry that is exactly this
--    acl-     name: of the principal whose entries go, null: the whole list
--
-- What is refused is what repo.ace_append refuses: the message says why.

-- As in 0009. An edit of a list is in nobody's way who adds a property or a child.
CREATE OR REPLACE FUNCTION repo.change_strength(c jsonb) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE
		WHEN c ->> 'kind' = 'copy' THEN 1
		WHEN c ->> 'kind' IN ('order', 'unset', 'ace+', 'ace-', 'acl-')
			OR jsonb_typeof(c -> 'base') = 'object' THEN 2
		ELSE 3 END;
$$;

CREATE FUNCTION repo.change_list(c jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	place      CONSTANT text := c ->> 'path';
	name       CONSTANT text := c ->> 'name';
	who        CONSTANT bigint := (SELECT p.id FROM auth.principal_public p WHERE p.name = c ->> 'name');
	privileges CONSTANT text[] := ARRAY (SELECT jsonb_array_elements_text(c -> 'privileges'));
BEGIN
	IF c ->> 'kind' = 'acl-' AND name IS NULL THEN
		RETURN repo.acl_delete(place) > 0;
	ELSIF c ->> 'kind' = 'acl-' THEN
		RETURN who IS NOT NULL AND repo.ace_remove_all(place, who) > 0;
	ELSIF who IS NULL THEN
		RAISE EXCEPTION 'no such principal: "%"', name USING ERRCODE = 'invalid_parameter_value';
	ELSIF c ->> 'kind' = 'ace+' THEN
		RETURN repo.ace_append(place, who, (c ->> 'allow')::boolean, privileges, c -> 'restrictions');
	END IF;
	RETURN repo.ace_remove(place, who, (c ->> 'allow')::boolean, privileges, c -> 'restrictions');
END $$;

-- As in 0009, with the edits of lists.
CREATE OR REPLACE FUNCTION repo.change_do(c jsonb, f repo.change_fact) RETURNS repo.change_fact
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
	ELSE
		f.outcome := CASE WHEN repo.change_list(c) THEN 'done' ELSE 'same' END;
	END CASE;
	RETURN f;
END $$;

REVOKE ALL ON FUNCTION repo.change_list(jsonb) FROM PUBLIC;
