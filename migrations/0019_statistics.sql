-- 0019_statistics.sql - statistics of tables that have just grown.
--
-- Locks and time: a function; a few milliseconds. Undo: DROP FUNCTION repo.statistics_follow(); ALTER FUNCTION
-- repo.version_parts ROWS 1000.
--
-- The server makes statistics by itself, up to a minute late. Until then connections keep the plans that
-- they made while a table was a page or two long, when one index seems as good as another: a node
-- was looked up by its id in the index of children, read from end to end, and a removal or a move among
-- 20,000 nodes that were made in the first minute of an installation took one. New statistics
-- end all plans of the tables that they are about, in all connections.

-- Run by whoever writes much, now and then: makes them for the tables of twice the size and more. How
-- many those were. It takes longest for large tables, and then less than a second: a sample is read.
CREATE FUNCTION repo.statistics_follow() RETURNS integer LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	grown text;
	n     integer := 0;
BEGIN
	FOR grown IN SELECT c.oid::regclass FROM pg_class c
			WHERE c.relnamespace = 'repo'::regnamespace AND c.relkind = 'r'
				AND pg_relation_size(c.oid) > (2 * c.relpages + 8) * 8192::bigint LOOP
		EXECUTE format('ANALYZE (SKIP_LOCKED) %s', grown);
		n := n + 1;
	END LOOP;
	RETURN n;
END $$;

-- Few, so that each is looked up: for a thousand of them all of repo.content would be read.
ALTER FUNCTION repo.version_parts(bigint) ROWS 10;

REVOKE ALL ON FUNCTION repo.statistics_follow() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION repo.statistics_follow() TO boardwalk_repo;
