-- 0013_import.sql - what `boardwalk import` calls: nodes with all that they were, in the owner's name.
--
-- Locks and time: a function only; a few milliseconds. Undo: drop it.

-- Makes nodes in the order of the list, or completes those that are there. An item:
--   {"path", "type": null: as its parent says, "mixins": [...], "properties": {...},
--    "acl": [{"principal", "granted": [...], "denied": [...], "restrictions": {...}}], "whole": false}
-- A node that is there keeps its types and its values, and gets the properties that it lacks; overwrite:
-- it gets the types and values of the item, and keeps what the item does not name. What a node's types
-- protect (who made it and when, its identifier) is taken from the item too, for a node that is new.
-- Entries belong to a new node, or to one that is overwritten; whole false: nothing but properties.
CREATE FUNCTION repo.import_nodes(items jsonb, overwrite boolean, OUT made bigint, OUT changed bigint)
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
	item    jsonb;
	wanted  text;
	node    bigint;
	is_new  boolean;
	touched bigint[] := '{}';
	name    text;
	value   jsonb;
	held    jsonb;
	entry   jsonb;
	did     boolean;
BEGIN
	made := 0;
	changed := 0;
	FOR item IN SELECT jsonb_array_elements(items) LOOP
		wanted := item ->> 'path';
		did := false;
		node := NULL;
		IF (item ->> 'whole')::boolean THEN
			node := repo.node_create(wanted, item ->> 'type',
				ARRAY (SELECT jsonb_array_elements_text(item -> 'mixins')), item -> 'properties');
		END IF;
		is_new := node IS NOT NULL;
		IF is_new THEN
			UPDATE repo.content c SET properties = c.properties || (
					SELECT coalesce(jsonb_object_agg(p.key, p.value), '{}')
					FROM jsonb_each(item -> 'properties') p
					WHERE p.key NOT IN ('jcr:primaryType', 'jcr:mixinTypes') AND (
						p.key IN ('jcr:created', 'jcr:createdBy') OR EXISTS (
						SELECT FROM repo.node_type d WHERE d.name = ANY (t.primary_type || t.mixins)
							AND p.key = ANY (d.protected))))
				FROM repo.tree t WHERE t.id = node AND c.id = node;
			made := made + 1;
		ELSE
			SELECT t.id, c.properties INTO node, held
				FROM repo.tree t JOIN repo.content c ON c.id = t.id WHERE t.path = wanted;
			IF node IS NULL THEN
				RAISE EXCEPTION 'it is gone: "%"', wanted USING ERRCODE = 'no_data_found';
			END IF;
			IF overwrite AND (item ->> 'whole')::boolean AND wanted <> '/' THEN
				IF item ->> 'type' IS NOT NULL THEN
					did := repo.node_type_set(wanted, item ->> 'type');
				END IF;
				FOR name IN SELECT jsonb_array_elements_text(item -> 'mixins') LOOP
					did := repo.mixin_add(wanted, name) OR did;
				END LOOP;
			END IF;
			FOR name, value IN SELECT p.key, p.value FROM jsonb_each(item -> 'properties') p LOOP
				CONTINUE WHEN name IN ('jcr:created', 'jcr:createdBy') OR held ? name AND NOT overwrite
					OR EXISTS (SELECT FROM repo.tree t JOIN repo.node_type d
						ON d.name = ANY (t.primary_type || t.mixins)
						WHERE t.id = node AND name = ANY (d.protected));
				did := repo.property_set(wanted, name, value) OR did;
			END LOOP;
			changed := changed + did::integer;
		END IF;
		IF is_new OR overwrite THEN
			FOR entry IN SELECT jsonb_array_elements(item -> 'acl') LOOP
				FOR name, value IN SELECT k, entry -> k FROM unnest('{granted,denied}'::text[]) k LOOP
					CONTINUE WHEN coalesce(jsonb_array_length(value), 0) = 0;
					PERFORM repo.ace_append(wanted, auth.principal_id(entry ->> 'principal'),
						name = 'granted', ARRAY (SELECT jsonb_array_elements_text(value)),
						(SELECT coalesce(jsonb_object_agg(r.key, CASE jsonb_typeof(r.value)
							WHEN 'array' THEN r.value ELSE jsonb_build_array(r.value) END), '{}')
							FROM jsonb_each(entry -> 'restrictions') r));
				END LOOP;
			END LOOP;
		END IF;
		touched := touched || node || (SELECT t.parent FROM repo.tree t WHERE t.id = node);
	END LOOP;
	PERFORM repo.node_check(array_remove(touched, NULL));
END $$;

REVOKE ALL ON FUNCTION repo.import_nodes(jsonb, boolean) FROM PUBLIC;
