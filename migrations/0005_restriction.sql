-- 0005_restriction.sql - restrictions of entries.
--
-- Locks and time: a column with a constant default; repo.ace is locked for a few milliseconds. Undo:
-- DROP COLUMN restrictions (entries with restrictions then hold everywhere below their node: delete them
-- first), and the functions below as 0002 and 0004 have them.

-- {"rep:ntNames": ["a", "b"]}: names as repo/restriction.c knows them, each with its values, sorted
-- and each once, so that equal restrictions are equal objects.
ALTER TABLE repo.ace ADD COLUMN restrictions jsonb NOT NULL DEFAULT '{}';

-- Restrictions as they are stored. At most 20 stars in a pattern.
CREATE FUNCTION repo.restrictions_check(wanted jsonb) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
	result jsonb := '{}';
	name   text;
	held   jsonb;
	one    text;
BEGIN
	IF wanted IS NULL OR jsonb_typeof(wanted) <> 'object' THEN
		RAISE EXCEPTION 'not restrictions: %', left(wanted::text, 80)
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	FOR name, held IN SELECT key, value FROM jsonb_each(wanted) LOOP
		IF name NOT IN ('rep:glob', 'rep:globs', 'rep:ntNames', 'rep:itemNames', 'rep:prefixes',
				'rep:current', 'rep:subtrees') THEN
			RAISE EXCEPTION 'unknown restriction: "%"', name USING ERRCODE = 'invalid_parameter_value';
		ELSIF jsonb_typeof(held) <> 'array'
				OR EXISTS (SELECT FROM jsonb_array_elements(held) v WHERE jsonb_typeof(v) <> 'string') THEN
			RAISE EXCEPTION 'not a list of texts: %', left(held::text, 80)
				USING ERRCODE = 'invalid_parameter_value';
		ELSIF name = 'rep:glob' AND jsonb_array_length(held) <> 1 THEN
			RAISE EXCEPTION 'restriction "rep:glob" has one value'
				USING ERRCODE = 'invalid_parameter_value';
		ELSIF jsonb_array_length(held) > 256 THEN
			RAISE EXCEPTION 'restriction of more than 256 values' USING ERRCODE = 'program_limit_exceeded';
		END IF;
		FOR one IN SELECT jsonb_array_elements_text(held) LOOP
			IF octet_length(one) > 2048 THEN
				RAISE EXCEPTION 'value of more than 2048 octets' USING ERRCODE = 'program_limit_exceeded';
			ELSIF name IN ('rep:glob', 'rep:globs') AND length(one) - length(replace(one, '*', '')) > 20 THEN
				RAISE EXCEPTION 'pattern of more than 20 stars' USING ERRCODE = 'invalid_parameter_value';
			ELSIF name = 'rep:subtrees' AND one = '' THEN
				RAISE EXCEPTION 'an empty value of "rep:subtrees"' USING ERRCODE = 'invalid_parameter_value';
			END IF;
		END LOOP;
		result := result || jsonb_build_object(name, (SELECT coalesce(jsonb_agg(DISTINCT v), '[]')
			FROM jsonb_array_elements_text(held) v));
	END LOOP;
	RETURN result;
END $$;

-- As in 0002, for the entries with these restrictions: those with others are other entries.
CREATE FUNCTION repo.ace_append(path text, principal bigint, allow boolean, privileges text[],
	restrictions jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
	who      CONSTANT bigint := ace_append.principal;
	kind     CONSTANT boolean := ace_append.allow;
	leaves   CONSTANT text[] := repo.privilege_leaves(ace_append.privileges);
	limits   CONSTANT jsonb := repo.restrictions_check(ace_append.restrictions);
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
	SELECT * INTO same FROM repo.ace WHERE node = node_id AND principal = who AND allow = kind
		AND restrictions = limits;
	SELECT * INTO opposite FROM repo.ace WHERE node = node_id AND principal = who AND allow <> kind
		AND restrictions = limits;
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
		INSERT INTO repo.ace (node, position, principal, allow, privileges, restrictions)
			SELECT node_id, coalesce(max(position), 0) + 1, who, kind, leaves, limits
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

CREATE OR REPLACE FUNCTION repo.ace_append(path text, principal bigint, allow boolean, privileges text[])
RETURNS boolean LANGUAGE sql AS $$
	SELECT repo.ace_append(path, principal, allow, privileges, '{}');
$$;

-- As in 0004, with restrictions.
DROP FUNCTION repo.ace_remove(text, bigint, boolean, text[]);
CREATE FUNCTION repo.ace_remove(path text, principal bigint, allow boolean, privileges text[],
	restrictions jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
	leaves  CONSTANT text[] := repo.privilege_leaves(ace_remove.privileges);
	limits  CONSTANT jsonb := repo.restrictions_check(ace_remove.restrictions);
	node_id bigint;
BEGIN
	PERFORM repo.structure_lock(false);
	node_id := repo.node_lock(ace_remove.path, false);
	PERFORM repo.acl_raise();
	DELETE FROM repo.ace WHERE node = node_id AND principal = ace_remove.principal
		AND allow = ace_remove.allow AND privileges = leaves AND restrictions = limits;
	IF NOT FOUND THEN
		RETURN false;
	END IF;
	PERFORM repo.journal_write('ACL', ace_remove.path);
	RETURN true;
END $$;

REVOKE ALL ON FUNCTION repo.restrictions_check(jsonb),
	repo.ace_append(text, bigint, boolean, text[], jsonb),
	repo.ace_remove(text, bigint, boolean, text[], jsonb) FROM PUBLIC;
