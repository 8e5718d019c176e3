-- 0020_reference.sql - a node that a Reference names is not removed (JCR 2.0 sections 3.6.1.9 and 3.8.2).
--
-- Locks and time: a new table, filled from the content; two triggers on repo.content, one on
-- repo.identifier; reads all of repo.content once. Undo: drop the triggers, repo.reference and the functions
-- reference_*; node_check as in 0008.
--
-- That a Reference has a node is not asked when it is set: content comes in many commits, and in any
-- order. From then on the node stays referenceable as long as the Reference is there, unless both go in
-- one commit. A WeakReference holds nothing. A history of versions (0018) is no node.

CREATE TABLE repo.reference (
	node   bigint NOT NULL REFERENCES repo.content ON DELETE CASCADE,
	target text COLLATE "C" NOT NULL,
	PRIMARY KEY (node, target)
);
CREATE INDEX reference_target ON repo.reference (target);

-- The identifiers that References of these properties name.
CREATE FUNCTION repo.reference_targets(properties jsonb) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
	SELECT ARRAY (SELECT DISTINCT v #>> '{}' FROM jsonb_path_query(properties
		- '{jcr:versionHistory,jcr:baseVersion,jcr:predecessors}'::text[], 'lax $.*.ref[*]') v ORDER BY 1);
$$;

-- Whoever removes the node meanwhile waits for us, and looks again.
CREATE FUNCTION repo.reference_follow() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	targets CONSTANT text[] := repo.reference_targets(NEW.properties);
BEGIN
	IF TG_OP = 'UPDATE' THEN
		DELETE FROM repo.reference WHERE node = NEW.id AND target <> ALL (targets);
	END IF;
	PERFORM FROM repo.identifier i WHERE i.uuid = ANY (targets) ORDER BY i.uuid FOR KEY SHARE;
	INSERT INTO repo.reference (node, target) SELECT NEW.id, t FROM unnest(targets) t
		ON CONFLICT DO NOTHING;
	RETURN NULL;
END $$;
CREATE TRIGGER reference_insert AFTER INSERT ON repo.content FOR EACH ROW
	WHEN (NEW.properties @? '$.*.ref') EXECUTE FUNCTION repo.reference_follow();
CREATE TRIGGER reference_update AFTER UPDATE OF properties ON repo.content FOR EACH ROW
	WHEN (OLD.properties @? '$.*.ref' OR NEW.properties @? '$.*.ref')
	EXECUTE FUNCTION repo.reference_follow();

-- Remembers until the next repo.node_check what References name: the node may come back with a restore, and
-- the References may go.
CREATE FUNCTION repo.reference_let_go() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF EXISTS (SELECT FROM repo.reference r WHERE r.target = OLD.uuid) THEN
		PERFORM set_config('boardwalk.let_go', (coalesce(nullif(
			current_setting('boardwalk.let_go', true), ''), '[]')::jsonb || to_jsonb(OLD.uuid))::text, true);
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER reference_let_go AFTER DELETE ON repo.identifier FOR EACH ROW
	EXECUTE FUNCTION repo.reference_let_go();

-- As in 0008, with what References name.
CREATE OR REPLACE FUNCTION repo.node_check(ids bigint[]) RETURNS void LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
	retyped CONSTANT text := current_setting('boardwalk.retyped', true);
	kind    record;
	def     repo.node_type;
	missed  text;
BEGIN
	FOR kind IN SELECT t.primary_type, t.mixins, array_agg(t.id) AS ids FROM repo.tree t
			WHERE t.id = ANY (node_check.ids) GROUP BY t.primary_type, t.mixins LOOP
		def := repo.definition(kind.primary_type, kind.mixins);
		PERFORM repo.items_check(def, kind.primary_type || kind.mixins, kind.ids);
		IF 'mix:referenceable' = ANY (def.ancestors) THEN
			PERFORM repo.identifiers_keep(kind.ids);
		END IF;
	END LOOP;
	IF retyped <> '' THEN
		ids := ids || ARRAY (SELECT k.id FROM repo.tree k
			WHERE k.parent = ANY (string_to_array(retyped, ' ')::bigint[]));
		PERFORM set_config('boardwalk.retyped', '', true);
	END IF;
	-- Node by node: a plan that was made while the tree was small would read all of tree_children, which
	-- holds these two columns as well, and stays for as long as the connection.
	FOR kind IN SELECT p.primary_type, p.mixins, array_agg(t.id) AS ids
			FROM unnest(node_check.ids) i
			CROSS JOIN LATERAL (SELECT * FROM repo.tree t WHERE t.id = i OFFSET 0) t
			CROSS JOIN LATERAL (SELECT * FROM repo.tree p WHERE p.id = t.parent OFFSET 0) p
			GROUP BY p.primary_type, p.mixins LOOP
		PERFORM repo.children_check(repo.definition(kind.primary_type, kind.mixins),
			kind.primary_type || kind.mixins, kind.ids);
	END LOOP;
	IF coalesce(current_setting('boardwalk.let_go', true), '') <> '' THEN
		missed := (SELECT min(u) FROM jsonb_array_elements_text(
				current_setting('boardwalk.let_go')::jsonb) u
			WHERE EXISTS (SELECT FROM repo.reference r WHERE r.target = u)
				AND NOT EXISTS (SELECT FROM repo.identifier i WHERE i.uuid = u));
		IF missed IS NOT NULL THEN
			RAISE EXCEPTION 'a Reference names the node with the identifier "%"', missed
				USING ERRCODE = 'foreign_key_violation';
		END IF;
		PERFORM set_config('boardwalk.let_go', '', true);
	END IF;
END $$;

INSERT INTO repo.reference (node, target)
	SELECT c.id, t FROM repo.content c, unnest(repo.reference_targets(c.properties)) t
	WHERE c.properties @? '$.*.ref';

-- Expanded names (JCR 2.0 section 3.2.5.1) are brought to their qualified form by the gateway, which asks repo.
GRANT SELECT ON repo.namespace TO boardwalk_repo;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA repo FROM PUBLIC;
