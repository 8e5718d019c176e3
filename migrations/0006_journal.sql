-- 0006_journal.sql - the journal tells events: who made a change, on which node, from where.
--
-- Locks and time: ACCESS EXCLUSIVE on repo.journal for a few milliseconds; no row is rewritten. Undo:
-- drop the columns and journal_write, and create that function as in 0002.
--
-- One transaction is one commit: xid says which rows belong together. A transaction that writes on
-- behalf of somebody says so before: set_config('boardwalk.principal', NAME, true) and
-- set_config('boardwalk.node', NODE, true). Rows without a node were made by no repo process (the
-- owner's tools), and every node takes them for another's.
--
-- kind, and what of the tree it speaks for:
--   ADDED    path; with from_path all below it as well, which came there as a whole by a move or a copy
--   CHANGED  path; properties: the names of those that were set or removed
--   REMOVED  path and all below it
--   ORDERED  the place of path among its siblings
--   ACL      the entries of path
-- A move is REMOVED of the old path, then ADDED of the new one with from_path.

ALTER TABLE repo.journal
	ADD COLUMN principal text,
	ADD COLUMN node      text,
	ADD COLUMN from_path text,
	-- path is the jcr:content of an nt:file: events name the file. The file may be gone by the time
	-- that somebody reads the row, so it says this itself.
	ADD COLUMN of_file   boolean NOT NULL DEFAULT false,
	DROP CONSTRAINT journal_kind_check,
	ADD CONSTRAINT journal_kind_check
		CHECK (kind IN ('ADDED', 'CHANGED', 'REMOVED', 'ORDERED', 'ACL'));

-- In place of that of 0002, which knew no more than kind, path and properties.
DROP FUNCTION repo.journal_write(text, text, text[]);
CREATE FUNCTION repo.journal_write(kind text, path text, properties text[] DEFAULT '{}',
	from_path text DEFAULT NULL)
RETURNS void LANGUAGE sql AS $$
	INSERT INTO repo.journal (kind, path, properties, from_path, principal, node, of_file)
		SELECT kind, path, properties, from_path,
			nullif(current_setting('boardwalk.principal', true), ''),
			nullif(current_setting('boardwalk.node', true), ''),
			right(path, 12) = '/jcr:content' AND EXISTS (SELECT FROM repo.tree t
				WHERE t.path = left(journal_write.path, -12) AND t.primary_type = 'nt:file');
$$;

REVOKE ALL ON FUNCTION repo.journal_write(text, text, text[], text) FROM PUBLIC;
