-- 0003_session.sql - HTTP sessions: one row for each session and context, one for each attribute.
--
-- Locks and time: new tables only; a few milliseconds. Undo: DROP TABLE repo.session_value,
-- repo.session; DROP TYPE repo.session_row CASCADE; and the functions repo.session_*.
--
-- repo.session.id is a hash of what the client's cookie holds, which is stored nowhere. Contexts of
-- one client share it. As in 0002, everything that writes is a function here; boardwalk_repo may read
-- the tables and call those that are granted at the end.
--
-- Whoever changes an attribute locks the session's row first, so that changes of one session come one
-- after the other, and a session that is deleted is handed to exactly one who asks. More than one row
-- is locked in the order of the contexts' names, or not waited for.

CREATE TABLE repo.session (
	number       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	id           bytea NOT NULL CHECK (octet_length(id) = 32),
	context      text COLLATE "C" NOT NULL CHECK (octet_length(context) BETWEEN 1 AND 255),
	created      timestamptz NOT NULL DEFAULT now(),
	accessed     timestamptz NOT NULL DEFAULT now(), -- the last access that was written
	max_inactive integer NOT NULL,                   -- seconds; 0 or less: never
	expires      timestamptz,                        -- NULL: never
	n_values     integer NOT NULL DEFAULT 0,
	octets       integer NOT NULL DEFAULT 0,
	UNIQUE (id, context)
) WITH (fillfactor = 80);
CREATE INDEX session_expires ON repo.session (expires) WHERE expires IS NOT NULL;

-- kind: enum session_kind of wire/session.h, which also tells how value is made.
CREATE TABLE repo.session_value (
	session bigint NOT NULL REFERENCES repo.session ON DELETE CASCADE,
	name    text COLLATE "C" NOT NULL CHECK (octet_length(name) BETWEEN 1 AND 255),
	kind    smallint NOT NULL CHECK (kind BETWEEN 1 AND 8),
	value   bytea NOT NULL,
	PRIMARY KEY (session, name)
);

GRANT SELECT ON repo.session, repo.session_value TO boardwalk_repo;

-- One attribute of a session, or a session without any. what: own, new, other, ended.
CREATE TYPE repo.session_row AS (
	what         text,
	number       bigint,
	context      text,
	created      bigint, -- microseconds since 1970, as accessed and lease
	accessed     bigint,
	max_inactive integer,
	lease        bigint,
	name         text,
	kind         smallint,
	value        bytea
);

-- ---- time ----

CREATE FUNCTION repo.session_us(t timestamptz) RETURNS bigint LANGUAGE sql STABLE AS $$
	SELECT (extract(epoch FROM t) * 1000000)::bigint;
$$;

-- A session that ends after a minute or more: an access is written if the one before it is older than
-- a minute, so it may have been used up to a minute later than its row says. A shorter one: each access
-- is written, and while a request uses it (in_use), it has a minute.
CREATE FUNCTION repo.session_expires(since timestamptz, max_inactive integer, in_use boolean)
RETURNS timestamptz LANGUAGE sql STABLE AS $$
	SELECT CASE WHEN max_inactive > 0 THEN since + make_interval(secs => CASE
		WHEN max_inactive >= 60 THEN max_inactive + 60.0
		WHEN in_use THEN 60.0
		ELSE max_inactive END) END;
$$;

-- What a request that uses a short-lived session gives back at its end: accessed, as it stood then.
CREATE FUNCTION repo.session_lease(accessed timestamptz, max_inactive integer) RETURNS bigint
LANGUAGE sql STABLE AS $$
	SELECT CASE WHEN max_inactive BETWEEN 1 AND 59 THEN repo.session_us(accessed) ELSE 0 END;
$$;

-- ---- reading and ending ----

CREATE FUNCTION repo.session_rows(what text, numbers bigint[]) RETURNS SETOF repo.session_row
LANGUAGE sql AS $$
	SELECT session_rows.what, s.number, s.context, repo.session_us(s.created),
		repo.session_us(s.accessed), s.max_inactive, repo.session_lease(s.accessed, s.max_inactive),
		v.name, v.kind, v.value
	FROM repo.session s LEFT JOIN repo.session_value v ON v.session = s.number
	WHERE s.number = ANY (session_rows.numbers) ORDER BY s.number, v.name;
$$;

-- The sessions that live under an id in contexts other than this one.
CREATE FUNCTION repo.session_others(wanted bytea, here text) RETURNS SETOF repo.session_row
LANGUAGE sql AS $$
	SELECT 'other', s.number, s.context, 0::bigint, 0::bigint, s.max_inactive, 0::bigint,
		NULL::text, NULL::smallint, NULL::bytea
	FROM repo.session s
	WHERE s.id = wanted AND s.context <> here AND (s.expires IS NULL OR s.expires > now())
	ORDER BY s.context;
$$;

-- As many of these as one message carries beside a session that lives; at least one, if there is one.
CREATE FUNCTION repo.session_fit(numbers bigint[]) RETURNS bigint[] LANGUAGE sql AS $$
	SELECT array_agg(f.number) FROM (
		SELECT s.number, sum(s.octets + 300) OVER (ORDER BY s.number) AS total
		FROM repo.session s WHERE s.number = ANY (numbers)) f
	WHERE f.total <= 131072;
$$;

-- Deletes sessions whose rows are locked, and returns what they were.
CREATE FUNCTION repo.session_end(numbers bigint[]) RETURNS SETOF repo.session_row
LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY SELECT * FROM repo.session_rows('ended', numbers);
	DELETE FROM repo.session WHERE number = ANY (numbers);
END $$;

-- Called instead of a mere read if something of this id has ended, or the access is to be written:
-- the last one is older than a minute, or the session is short-lived. accessed: the one before.
CREATE FUNCTION repo.session_visit(wanted bytea, here text) RETURNS SETOF repo.session_row
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
	numbers bigint[];
	own     bigint;
	before  timestamptz;
BEGIN
	SELECT array_agg(l.number) FILTER (WHERE l.expires <= now()),
		max(l.number) FILTER (WHERE l.expires IS NULL OR l.expires > now())
	INTO numbers, own FROM (SELECT s.number, s.expires FROM repo.session s
		WHERE s.id = wanted AND (s.expires <= now() OR s.context = here)
		ORDER BY s.context FOR UPDATE) l;
	RETURN QUERY SELECT * FROM repo.session_end(repo.session_fit(numbers));
	SELECT s.accessed INTO before FROM repo.session s WHERE s.number = own;
	UPDATE repo.session s SET accessed = now(),
		expires = repo.session_expires(now(), s.max_inactive, true) WHERE s.number = own;
	RETURN QUERY SELECT r.what, r.number, r.context, r.created, repo.session_us(before),
		r.max_inactive, r.lease, r.name, r.kind, r.value
		FROM repo.session_rows('own', ARRAY[own]) r;
	RETURN QUERY SELECT * FROM repo.session_others(wanted, here);
END $$;

-- joining: only if a session lives under this id; no rows if none does. One of this context that has
-- ended meanwhile is returned as well.
CREATE FUNCTION repo.session_create(wanted bytea, here text, seconds integer, joining boolean)
RETURNS SETOF repo.session_row
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
	own    bigint;
	lives  boolean;
	is_new boolean;
BEGIN
	IF joining THEN
		SELECT bool_or(l.expires IS NULL OR l.expires > now()),
			max(l.number) FILTER (WHERE l.context = here AND l.expires <= now())
		INTO lives, own FROM (SELECT s.number, s.context, s.expires FROM repo.session s
			WHERE s.id = wanted ORDER BY s.context FOR UPDATE) l;
		IF lives IS NOT TRUE THEN
			RETURN;
		END IF;
		RETURN QUERY SELECT * FROM repo.session_end(ARRAY[own]);
	END IF;
	INSERT INTO repo.session AS s (id, context, max_inactive, expires)
		VALUES (wanted, here, seconds, repo.session_expires(now(), seconds, true))
		ON CONFLICT (id, context) DO UPDATE SET accessed = now(),
			expires = repo.session_expires(now(), s.max_inactive, true)
		RETURNING s.number, s.xmax = 0 INTO own, is_new;
	RETURN QUERY SELECT *
		FROM repo.session_rows(CASE WHEN is_new THEN 'new' ELSE 'own' END, ARRAY[own]);
END $$;

-- This context's session ends.
CREATE FUNCTION repo.session_invalidate(wanted bytea, here text) RETURNS SETOF repo.session_row
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
	own bigint;
BEGIN
	SELECT s.number INTO own FROM repo.session s WHERE s.id = wanted AND s.context = here FOR UPDATE;
	RETURN QUERY SELECT * FROM repo.session_end(ARRAY[own]);
	RETURN QUERY SELECT * FROM repo.session_others(wanted, here);
END $$;

-- All contexts' sessions move to another id.
CREATE FUNCTION repo.session_change_id(wanted bytea, new_id bytea) RETURNS SETOF repo.session_row
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
	numbers bigint[];
BEGIN
	SELECT array_agg(l.number) INTO numbers FROM (SELECT s.number FROM repo.session s
		WHERE s.id = wanted AND (s.expires IS NULL OR s.expires > now())
		ORDER BY s.context FOR UPDATE) l;
	UPDATE repo.session s SET id = new_id WHERE s.number = ANY (numbers);
	RETURN QUERY SELECT * FROM repo.session_others(new_id, '');
END $$;

-- Sessions that have ended while nobody asked for them, a few at a time; rows that somebody is at work
-- on are left for the next time.
CREATE FUNCTION repo.session_sweep(most integer) RETURNS SETOF repo.session_row
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
	numbers bigint[];
BEGIN
	SELECT array_agg(l.number) INTO numbers FROM (SELECT s.number FROM repo.session s
		WHERE s.expires <= now() ORDER BY s.expires LIMIT most FOR UPDATE SKIP LOCKED) l;
	IF numbers IS NOT NULL THEN
		RETURN QUERY SELECT * FROM repo.session_end(repo.session_fit(numbers));
	END IF;
END $$;

-- ---- changing ----

-- new_kind NULL: remove. outcome: done, gone (there is no such session), full. kind and value: the old
-- ones. At most 256 attributes and 64 KiB, each attribute counted with its name and 16 octets.
CREATE FUNCTION repo.session_set(wanted bytea, here text, attribute text, new_kind smallint,
	new_value bytea) RETURNS TABLE (outcome text, kind smallint, value bytea)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
#variable_conflict use_column
DECLARE
	s         repo.session;
	old_kind  smallint;
	old_value bytea;
	many      integer;
	size      integer;
BEGIN
	SELECT * INTO s FROM repo.session r WHERE r.id = wanted AND r.context = here
		FOR NO KEY UPDATE;
	IF s.number IS NULL THEN
		RETURN QUERY SELECT 'gone', NULL::smallint, NULL::bytea;
		RETURN;
	END IF;
	SELECT v.kind, v.value INTO old_kind, old_value FROM repo.session_value v
		WHERE v.session = s.number AND v.name = attribute;
	many := s.n_values + (new_kind IS NOT NULL)::integer - (old_kind IS NOT NULL)::integer;
	size := s.octets
		+ CASE WHEN new_kind IS NULL THEN 0
			ELSE 16 + octet_length(attribute) + octet_length(new_value) END
		- CASE WHEN old_kind IS NULL THEN 0
			ELSE 16 + octet_length(attribute) + octet_length(old_value) END;
	IF new_kind IS NULL THEN
		DELETE FROM repo.session_value v WHERE v.session = s.number AND v.name = attribute;
	ELSIF many > 256 OR size > 65536 THEN
		RETURN QUERY SELECT 'full', NULL::smallint, NULL::bytea;
		RETURN;
	ELSE
		INSERT INTO repo.session_value AS v VALUES (s.number, attribute, new_kind, new_value)
			ON CONFLICT (session, name) DO UPDATE SET kind = excluded.kind, value = excluded.value;
	END IF;
	IF many <> s.n_values OR size <> s.octets THEN
		UPDATE repo.session r SET n_values = many, octets = size WHERE r.number = s.number;
	END IF;
	RETURN QUERY SELECT 'done', old_kind, old_value;
END $$;

-- outcome as above, and: kind (the attribute is no integer), range (the sum does not fit).
CREATE FUNCTION repo.session_add(wanted bytea, here text, attribute text, delta bigint)
RETURNS TABLE (outcome text, kind smallint, value bytea)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
#variable_conflict use_column
DECLARE
	own       bigint;
	old_kind  smallint;
	old_value bytea;
	total     numeric;
BEGIN
	SELECT r.number INTO own FROM repo.session r WHERE r.id = wanted AND r.context = here
		FOR NO KEY UPDATE;
	SELECT v.kind, v.value INTO old_kind, old_value FROM repo.session_value v
		WHERE v.session = own AND v.name = attribute;
	IF old_kind <> 2 THEN
		RETURN QUERY SELECT 'kind', NULL::smallint, NULL::bytea;
		RETURN;
	END IF;
	total := delta::numeric
		+ coalesce(('x' || encode(old_value, 'hex'))::bit(64)::bigint, 0)::numeric;
	IF total NOT BETWEEN -9223372036854775808 AND 9223372036854775807 THEN
		RETURN QUERY SELECT 'range', NULL::smallint, NULL::bytea;
		RETURN;
	END IF;
	RETURN QUERY SELECT *
		FROM repo.session_set(wanted, here, attribute, 2::smallint, int8send(total::bigint));
END $$;

-- The lease; no row if there is no such session.
CREATE FUNCTION repo.session_timeout(wanted bytea, here text, seconds integer) RETURNS SETOF bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog AS $$
	UPDATE repo.session s SET max_inactive = seconds, accessed = now(),
		expires = repo.session_expires(now(), seconds, true)
	WHERE s.id = wanted AND s.context = here
	RETURNING repo.session_lease(s.accessed, s.max_inactive);
$$;

-- The request is over. If another one has begun since, that one will say so.
CREATE FUNCTION repo.session_release(wanted bytea, here text, lease bigint) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog AS $$
	UPDATE repo.session s SET expires = repo.session_expires(now(), s.max_inactive, false)
	WHERE s.id = wanted AND s.context = here AND repo.session_us(s.accessed) = lease;
$$;

REVOKE ALL ON FUNCTION
	repo.session_us(timestamptz), repo.session_expires(timestamptz, integer, boolean),
	repo.session_lease(timestamptz, integer), repo.session_rows(text, bigint[]),
	repo.session_others(bytea, text), repo.session_fit(bigint[]), repo.session_end(bigint[]),
	repo.session_visit(bytea, text), repo.session_create(bytea, text, integer, boolean),
	repo.session_invalidate(bytea, text), repo.session_change_id(bytea, bytea),
	repo.session_sweep(integer), repo.session_set(bytea, text, text, smallint, bytea),
	repo.session_add(bytea, text, text, bigint), repo.session_timeout(bytea, text, integer),
	repo.session_release(bytea, text, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION
	repo.session_us(timestamptz),
	repo.session_visit(bytea, text), repo.session_create(bytea, text, integer, boolean),
	repo.session_invalidate(bytea, text), repo.session_change_id(bytea, bytea),
	repo.session_sweep(integer), repo.session_set(bytea, text, text, smallint, bytea),
	repo.session_add(bytea, text, text, bigint), repo.session_timeout(bytea, text, integer),
	repo.session_release(bytea, text, bigint) TO boardwalk_repo;
