-- 0016_login.sql - delays of accounts with failed logins, where accounts are logged into from, and who
-- may act as whom.
--
-- Locks: ACCESS EXCLUSIVE on auth.journal for a moment; everything else is made here. Milliseconds on any database. Undo: drop
-- the three tables and the functions named here, delete the journal's rows of the two new kinds and give
-- its constraint the list of before.

ALTER TABLE auth.journal DROP CONSTRAINT journal_kind_check;
ALTER TABLE auth.journal ADD CONSTRAINT journal_kind_check
	CHECK (kind IN ('created', 'password', 'disabled', 'membership', 'deleted', 'impersonator',
		'place'));

-- Who made the change, for the audit trail: said by whoever makes it, with set_config(..., true).
ALTER TABLE auth.journal ADD COLUMN actor text;

-- In place of that of 0001, which did not know who.
CREATE OR REPLACE FUNCTION auth.journal_write(principal bigint, kind text) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
	DELETE FROM auth.journal WHERE seq IN (
		SELECT j.seq FROM auth.journal j WHERE j.at < clock_timestamp() - interval '1 hour'
		ORDER BY j.seq LIMIT 100 FOR UPDATE SKIP LOCKED);
	INSERT INTO auth.journal (principal, kind, actor) VALUES ($1, $2,
		coalesce(nullif(current_setting('boardwalk.actor', true), ''),
			nullif(current_setting('boardwalk.principal', true), '')));
$$;

-- ---- delays ----

-- A name, not an account: names that do not exist are treated alike. A row costs whoever makes it grow
-- as many password verifications as failures stand in it, which bounds the table's growth.
CREATE TABLE auth.login_lock (
	name     text COLLATE "C" PRIMARY KEY,
	failures integer NOT NULL CHECK (failures > 0),
	until    timestamptz NOT NULL,
	CONSTRAINT login_lock_name CHECK (octet_length(name) BETWEEN 1 AND 255)
);
CREATE INDEX login_lock_until ON auth.login_lock (until);

-- The delay of a name; failures 0: it has none any more. Those that have been over for longer than
-- window_s seconds go, a few at a time.
CREATE FUNCTION auth.login_lock_set(name text, failures integer, wait_s integer, window_s integer)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	DELETE FROM auth.login_lock WHERE login_lock.name IN (
		SELECT l.name FROM auth.login_lock l WHERE l.until < now() - make_interval(secs => $4)
		ORDER BY l.until LIMIT 100 FOR UPDATE SKIP LOCKED);
	IF $2 = 0 THEN
		DELETE FROM auth.login_lock l WHERE l.name = $1;
		RETURN;
	END IF;
	INSERT INTO auth.login_lock AS l (name, failures, until)
	VALUES ($1, $2, now() + make_interval(secs => $3))
	ON CONFLICT ON CONSTRAINT login_lock_pkey DO UPDATE
	SET failures = $2, until = greatest(l.until, excluded.until);
END $$;

-- ---- places ----

-- Whence an account was logged into: an IPv4 address, or the first half of an IPv6 one.
CREATE TABLE auth.login_place (
	principal bigint NOT NULL REFERENCES auth.principal ON DELETE CASCADE,
	place     bytea NOT NULL CHECK (octet_length(place) IN (4, 8)),
	since     timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (principal, place)
);

-- The newest eight of an account stay.
CREATE FUNCTION auth.login_place_seen(principal bigint, place bytea) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	PERFORM FROM auth.principal p WHERE p.id = $1 FOR NO KEY UPDATE;
	IF NOT FOUND THEN
		RETURN;
	END IF;
	INSERT INTO auth.login_place AS l (principal, place) VALUES ($1, $2)
	ON CONFLICT ON CONSTRAINT login_place_pkey DO UPDATE SET since = now();
	DELETE FROM auth.login_place l WHERE l.principal = $1 AND l.place IN (
		SELECT o.place FROM auth.login_place o WHERE o.principal = $1
		ORDER BY o.since DESC, o.place OFFSET 8);
	PERFORM auth.journal_write($1, 'place');
END $$;

-- ---- impersonation ----

-- impersonator may act as target. Users only: that somebody is in a group gives nobody this right.
CREATE TABLE auth.impersonator (
	target       bigint NOT NULL REFERENCES auth.principal ON DELETE CASCADE,
	impersonator bigint NOT NULL REFERENCES auth.principal ON DELETE CASCADE,
	PRIMARY KEY (target, impersonator),
	CONSTRAINT impersonator_not_itself CHECK (target <> impersonator)
);
CREATE INDEX impersonator_impersonator ON auth.impersonator (impersonator);

-- The id of a user that somebody may act as, or who may act as somebody.
CREATE FUNCTION auth.impersonation_id(name text) RETURNS bigint
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	of_id bigint := auth.principal_id($1);
BEGIN
	IF of_id = 2 OR (SELECT p.class FROM auth.principal p WHERE p.id = of_id) <> 'user' THEN
		RAISE EXCEPTION '"%" is no user that can impersonate or be impersonated', $1
			USING ERRCODE = 'wrong_object_type';
	END IF;
	RETURN of_id;
END $$;

-- False: it was there already.
CREATE FUNCTION auth.impersonator_add(target_name text, impersonator_name text) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target_id       bigint := auth.impersonation_id($1);
	impersonator_id bigint := auth.impersonation_id($2);
BEGIN
	IF target_id = impersonator_id THEN
		RAISE EXCEPTION '"%" is always itself', $1 USING ERRCODE = 'check_violation';
	END IF;
	INSERT INTO auth.impersonator (target, impersonator) VALUES (target_id, impersonator_id)
	ON CONFLICT DO NOTHING;
	IF NOT FOUND THEN
		RETURN false;
	END IF;
	PERFORM auth.journal_write(target_id, 'impersonator');
	RETURN true;
END $$;

-- False: it was not there.
CREATE FUNCTION auth.impersonator_remove(target_name text, impersonator_name text) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	target_id bigint := auth.principal_id($1);
BEGIN
	DELETE FROM auth.impersonator i
	WHERE i.target = target_id AND i.impersonator = auth.principal_id($2);
	IF NOT FOUND THEN
		RETURN false;
	END IF;
	PERFORM auth.journal_write(target_id, 'impersonator');
	RETURN true;
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA auth FROM PUBLIC;
GRANT SELECT ON auth.login_lock, auth.login_place, auth.impersonator TO boardwalk_auth;
GRANT EXECUTE ON FUNCTION auth.login_lock_set(text, integer, integer, integer),
	auth.login_place_seen(bigint, bytea) TO boardwalk_auth;
