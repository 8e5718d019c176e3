-- 0017_token.sql - sessions that end before their tokens do: of an account all at once, or one.
--
-- Locks: auth.principal and auth.journal, to add columns with constant defaults: milliseconds on any
-- database. Undo: drop what is made here, and put back auth.password_set of 0001.

-- Tokens bear the version their account had when they were made, and are worth nothing under another
-- one. ended_at: when it was raised; what others have signed (they know no version) is refused if it
-- is not younger.
ALTER TABLE auth.principal
	ADD COLUMN session_version bigint NOT NULL DEFAULT 0,
	ADD COLUMN ended_at timestamptz;

-- detail: of a revoked token, its id.
ALTER TABLE auth.journal ADD COLUMN detail text;
ALTER TABLE auth.journal DROP CONSTRAINT journal_kind_check;
ALTER TABLE auth.journal ADD CONSTRAINT journal_kind_check CHECK (kind IN
	('created', 'password', 'disabled', 'membership', 'deleted', 'impersonator', 'place', 'sessions',
		'revoked'));

-- Session tokens that were logged out, until they would have ended by themselves. principal is no
-- reference: accounts may go before.
CREATE TABLE auth.revoked_token (
	jti       text COLLATE "C" PRIMARY KEY,
	principal bigint NOT NULL,
	until     timestamptz NOT NULL,
	CONSTRAINT revoked_token_jti CHECK (octet_length(jti) BETWEEN 1 AND 64)
);
CREATE INDEX revoked_token_until ON auth.revoked_token (until);

-- All sessions of an account are over. The caller writes the journal row.
CREATE FUNCTION auth.session_version_raise(principal bigint) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
	UPDATE auth.principal p SET session_version = p.session_version + 1, ended_at = clock_timestamp()
	WHERE p.id = $1;
$$;

CREATE FUNCTION auth.sessions_end(name text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	of_id bigint := auth.principal_id($1);
BEGIN
	IF of_id = 2 OR (SELECT p.class FROM auth.principal p WHERE p.id = of_id) <> 'user' THEN
		RAISE EXCEPTION '"%" cannot have sessions', $1 USING ERRCODE = 'wrong_object_type';
	END IF;
	PERFORM auth.session_version_raise(of_id);
	PERFORM auth.journal_write(of_id, 'sessions');
END $$;

-- Whoever disables an account, by whichever function, ends its sessions: they do not come back when it
-- is enabled again.
CREATE FUNCTION auth.session_version_follow() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	NEW.session_version := OLD.session_version + 1;
	NEW.ended_at := clock_timestamp();
	RETURN NEW;
END $$;
CREATE TRIGGER sessions_end_with_disabling BEFORE UPDATE OF disabled ON auth.principal
	FOR EACH ROW WHEN (NEW.disabled AND NOT OLD.disabled)
	EXECUTE FUNCTION auth.session_version_follow();

-- As in 0001, and the sessions begun with the old password end. (Not in a trigger: a verifier of
-- another cost, by auth.verifier_replace, is no other password.)
CREATE OR REPLACE FUNCTION auth.password_set(name text, verifier text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	of_id bigint := auth.principal_id($1);
BEGIN
	IF of_id = 2 OR (SELECT p.class FROM auth.principal p WHERE p.id = of_id) <> 'user' THEN
		RAISE EXCEPTION '"%" cannot have a password', $1 USING ERRCODE = 'wrong_object_type';
	END IF;
	IF $2 !~ '^\$argon2id\$' THEN -- said here: a violated constraint would print the row
		RAISE EXCEPTION 'not an argon2id verifier' USING ERRCODE = 'invalid_parameter_value';
	END IF;
	INSERT INTO auth.credential AS c (principal, verifier) VALUES (of_id, $2)
	ON CONFLICT ON CONSTRAINT credential_pkey DO UPDATE SET verifier = $2, changed = now();
	PERFORM auth.session_version_raise(of_id);
	PERFORM auth.journal_write(of_id, 'password');
END $$;

-- One session token is logged out. False: it was worth nothing already. Like auth.journal_write it
-- also removes some of what is over. With the owner's rights: role boardwalk_auth, which has checked
-- the token, may write nothing else here.
CREATE FUNCTION auth.token_revoke(principal bigint, version bigint, jti text, until_s bigint)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	DELETE FROM auth.revoked_token t WHERE t.jti IN (
		SELECT r.jti FROM auth.revoked_token r WHERE r.until < clock_timestamp()
		ORDER BY r.until LIMIT 100 FOR UPDATE SKIP LOCKED);
	IF NOT EXISTS (SELECT FROM auth.principal p
		WHERE p.id = $1 AND p.session_version = $2 AND NOT p.disabled)
	THEN
		RETURN false;
	END IF;
	INSERT INTO auth.revoked_token (jti, principal, until) VALUES ($3, $1, to_timestamp($4))
	ON CONFLICT ON CONSTRAINT revoked_token_pkey DO NOTHING;
	IF NOT FOUND THEN
		RETURN false;
	END IF;
	INSERT INTO auth.journal (principal, kind, detail) VALUES ($1, 'revoked', $3);
	RETURN true;
END $$;

REVOKE ALL ON FUNCTION auth.session_version_raise(bigint), auth.sessions_end(text),
	auth.session_version_follow(), auth.token_revoke(bigint, bigint, text, bigint) FROM PUBLIC;
GRANT SELECT ON auth.revoked_token TO boardwalk_auth;
GRANT EXECUTE ON FUNCTION auth.token_revoke(bigint, bigint, text, bigint) TO boardwalk_auth;
