-- 0012_blob.sql - binary values: up to 1 GiB, kept in chunks of 64 KiB beside the content.
--
-- Locks and time: new tables, two triggers on repo.content; a few milliseconds. Undo: drop the
-- triggers, repo.blob_use, repo.blob_upload, repo.blob_chunk, repo.blob and the functions blob_*.
--
-- A property of type Binary holds "HASH LENGTH" (JCR 2.0 section 3.6.1.2; repo.scalar_fits). The hash is
-- the SHA-256 over the SHA-256 of each chunk, in hexadecimal digits, so that a range can be checked
-- without the rest and equal content is stored once. What is being uploaded is a blob without a hash
-- yet, and belongs to whoever began it. What no property and no upload holds any more goes after an hour.

CREATE TABLE repo.blob (
	id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	hash   bytea CHECK (octet_length(hash) = 32), -- NULL: is being uploaded
	length bigint NOT NULL DEFAULT 0 CHECK (length BETWEEN 0 AND 1073741824),
	unused timestamptz DEFAULT now(),             -- since then; NULL: a property holds it
	UNIQUE (hash, length)
);
CREATE INDEX blob_unused ON repo.blob (unused) WHERE unused IS NOT NULL;

-- Chunks number 0, 1, ...: of 65,536 octets, the last one of 1 to 65,536.
CREATE TABLE repo.blob_chunk (
	blob bigint NOT NULL REFERENCES repo.blob ON DELETE CASCADE,
	n    integer NOT NULL,
	hash bytea NOT NULL,
	data bytea NOT NULL CHECK (octet_length(data) BETWEEN 1 AND 65536),
	PRIMARY KEY (blob, n)
);
-- What is uploaded is mostly compressed already.
ALTER TABLE repo.blob_chunk ALTER COLUMN data SET STORAGE EXTERNAL;

CREATE TABLE repo.blob_upload (
	id        uuid PRIMARY KEY DEFAULT gen_random_uuid(),
	blob      bigint NOT NULL REFERENCES repo.blob,
	principal bigint NOT NULL,
	touched   timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX blob_upload_blob ON repo.blob_upload (blob);
CREATE INDEX blob_upload_principal ON repo.blob_upload (principal);

-- Which nodes hold which blobs; follows repo.content by itself.
CREATE TABLE repo.blob_use (
	node bigint NOT NULL REFERENCES repo.content ON DELETE CASCADE,
	blob bigint NOT NULL REFERENCES repo.blob,
	PRIMARY KEY (node, blob)
);
CREATE INDEX blob_use_blob ON repo.blob_use (blob);

GRANT SELECT ON repo.blob, repo.blob_chunk TO boardwalk_repo;

-- ---- who holds what ----

-- The blobs of these properties, locked against blob_sweep until the transaction ends.
CREATE FUNCTION repo.blob_ids(properties jsonb) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
	held text;
	one  bigint;
	ids  bigint[] := '{}';
BEGIN
	FOR held IN SELECT DISTINCT v #>> '{}'
			FROM jsonb_path_query(properties, 'lax $.*.bin[*]') v ORDER BY 1 LOOP
		SELECT b.id INTO one FROM repo.blob b
			WHERE b.hash = decode(left(held, 64), 'hex') AND b.length = substr(held, 66)::bigint
			FOR KEY SHARE;
		IF one IS NULL THEN
			RAISE EXCEPTION 'no such binary: "%"', held USING ERRCODE = 'foreign_key_violation';
		END IF;
		ids := ids || one;
	END LOOP;
	RETURN ids;
END $$;

CREATE FUNCTION repo.blob_follow() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	ids CONSTANT bigint[] := repo.blob_ids(NEW.properties);
BEGIN
	IF TG_OP = 'UPDATE' THEN
		DELETE FROM repo.blob_use WHERE node = NEW.id AND blob <> ALL (ids);
	END IF;
	INSERT INTO repo.blob_use (node, blob) SELECT NEW.id, i FROM unnest(ids) i
		ON CONFLICT DO NOTHING;
	UPDATE repo.blob SET unused = NULL WHERE id = ANY (ids) AND unused IS NOT NULL;
	RETURN NULL;
END $$;
CREATE TRIGGER blob_insert AFTER INSERT ON repo.content FOR EACH ROW
	WHEN (NEW.properties @? '$.*.bin') EXECUTE FUNCTION repo.blob_follow();
CREATE TRIGGER blob_update AFTER UPDATE OF properties ON repo.content FOR EACH ROW
	WHEN (OLD.properties @? '$.*.bin' OR NEW.properties @? '$.*.bin')
	EXECUTE FUNCTION repo.blob_follow();

-- The last one that holds it may be another transaction's: blob_sweep looks again.
CREATE FUNCTION repo.blob_let_go() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	UPDATE repo.blob SET unused = now() WHERE id = OLD.blob;
	RETURN NULL;
END $$;
CREATE TRIGGER blob_let_go AFTER DELETE ON repo.blob_use FOR EACH ROW
	EXECUTE FUNCTION repo.blob_let_go();

-- ---- uploads ----

CREATE TYPE repo.upload_state AS (
	outcome text, -- done; gone: no such upload of this principal; order: not where the upload ends, or
	              -- behind a short chunk; full: over 1 GiB; busy: 64 uploads of this principal
	upload  uuid,
	length  bigint
);

-- Appends data, a multiple of 64 KiB but in the last call, to an upload, or begins one (upload NULL).
CREATE FUNCTION repo.blob_write(upload uuid, principal bigint, at bigint, data bytea)
RETURNS repo.upload_state LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
	of_blob repo.blob;
	size    CONSTANT integer := octet_length(data);
BEGIN
	IF upload IS NULL THEN
		IF (SELECT count(*) FROM repo.blob_upload u WHERE u.principal = principal) >= 64 THEN
			RETURN ('busy', NULL, 0)::repo.upload_state;
		END IF;
		INSERT INTO repo.blob DEFAULT VALUES RETURNING * INTO of_blob;
		INSERT INTO repo.blob_upload AS u (blob, principal) VALUES (of_blob.id, principal)
			RETURNING u.id INTO upload;
	ELSE
		SELECT b.* INTO of_blob FROM repo.blob_upload u JOIN repo.blob b ON b.id = u.blob
			WHERE u.id = upload AND u.principal = principal FOR UPDATE;
	END IF;
	IF of_blob.id IS NULL THEN
		RETURN ('gone', upload, 0)::repo.upload_state;
	ELSIF of_blob.hash IS NOT NULL OR at <> of_blob.length OR at % 65536 <> 0 THEN
		RETURN ('order', upload, of_blob.length)::repo.upload_state;
	ELSIF at + size > 1073741824 THEN
		RETURN ('full', upload, of_blob.length)::repo.upload_state;
	END IF;
	INSERT INTO repo.blob_chunk (blob, n, hash, data)
		SELECT of_blob.id, at / 65536 + i, sha256(piece), piece
		FROM generate_series(0, (size - 1) / 65536) i
		CROSS JOIN LATERAL substr(data, i * 65536 + 1, 65536) piece WHERE size > 0;
	UPDATE repo.blob b SET length = at + size WHERE b.id = of_blob.id;
	UPDATE repo.blob_upload u SET touched = now() WHERE u.id = upload;
	RETURN ('done', upload, at + size)::repo.upload_state;
END $$;

-- What a property is to hold for an upload; NULL: there is none of this principal. The same content
-- that is there already takes its place. It may be taken more than once.
CREATE FUNCTION repo.blob_take(upload uuid, principal bigint) RETURNS text LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
	of_blob repo.blob;
	same    bigint;
	total   bytea;
BEGIN
	SELECT b.* INTO of_blob FROM repo.blob_upload u JOIN repo.blob b ON b.id = u.blob
		WHERE u.id = upload AND u.principal = principal FOR UPDATE;
	IF of_blob.id IS NULL THEN
		RETURN NULL;
	ELSIF of_blob.hash IS NULL THEN
		total := sha256(coalesce((SELECT string_agg(c.hash, ''::bytea ORDER BY c.n)
			FROM repo.blob_chunk c WHERE c.blob = of_blob.id), ''));
		-- Who finishes the same content at the same moment waits here for the other one.
		PERFORM pg_advisory_xact_lock(1651471973, ('x' || encode(substr(total, 1, 4), 'hex'))::bit(32)::integer);
		SELECT b.id INTO same FROM repo.blob b
			WHERE b.hash = total AND b.length = of_blob.length FOR KEY SHARE;
		IF same IS NULL THEN
			UPDATE repo.blob b SET hash = total WHERE b.id = of_blob.id;
		ELSE
			UPDATE repo.blob_upload u SET blob = same WHERE u.id = upload;
			DELETE FROM repo.blob b WHERE b.id = of_blob.id;
		END IF;
		of_blob.hash := total;
	END IF;
	RETURN encode(of_blob.hash, 'hex') || ' ' || of_blob.length;
END $$;

-- A typed value whose Binaries are ids of uploads, with what a property is to hold.
CREATE FUNCTION repo.blob_value(held jsonb, principal bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	upload text;
	taken  text;
	texts  jsonb := '[]';
BEGIN
	IF NOT held ? 'bin' THEN
		RETURN held;
	END IF;
	FOR upload IN SELECT v #>> '{}' FROM jsonb_path_query(held, 'lax $.bin[*]') v LOOP
		IF upload ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN
			taken := repo.blob_take(upload::uuid, principal);
		END IF;
		IF taken IS NULL THEN
			RAISE EXCEPTION 'no such upload: "%"', left(upload, 40)
				USING ERRCODE = 'invalid_parameter_value';
		END IF;
		texts := texts || to_jsonb(taken);
		taken := NULL;
	END LOOP;
	RETURN jsonb_build_object('bin',
		CASE jsonb_typeof(held -> 'bin') WHEN 'array' THEN texts ELSE texts -> 0 END);
END $$;

-- A list of changes as repo.commit_apply takes it, from one that names uploads.
CREATE FUNCTION repo.blob_settle(changes jsonb, principal bigint) RETURNS jsonb
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
	SELECT jsonb_agg(CASE
		WHEN c ? 'value' THEN c || jsonb_build_object('value',
			repo.blob_value(c -> 'value', principal))
		WHEN c ? 'properties' THEN c || jsonb_build_object('properties',
			(SELECT coalesce(jsonb_object_agg(p.key, repo.blob_value(p.value, principal)), '{}')
				FROM jsonb_each(c -> 'properties') p))
		ELSE c END ORDER BY n)
	FROM jsonb_array_elements(changes) WITH ORDINALITY e (c, n);
$$;

-- Run by boardwalk_repo once a minute: uploads that nobody went on with for an hour, then blobs that
-- nobody holds, a few of each. How many blobs went.
CREATE FUNCTION repo.blob_sweep(most integer) RETURNS integer LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	one  bigint;
	gone integer := 0;
BEGIN
	DELETE FROM repo.blob_upload WHERE id IN (SELECT id FROM repo.blob_upload
		WHERE touched < now() - interval '1 hour' LIMIT most FOR UPDATE SKIP LOCKED);
	FOR one IN SELECT b.id FROM repo.blob b WHERE b.unused < now() - interval '1 hour'
			AND NOT EXISTS (SELECT FROM repo.blob_upload u WHERE u.blob = b.id)
			ORDER BY b.unused LIMIT most FOR UPDATE SKIP LOCKED LOOP
		IF EXISTS (SELECT FROM repo.blob_use u WHERE u.blob = one) THEN
			UPDATE repo.blob SET unused = NULL WHERE id = one;
		ELSE
			DELETE FROM repo.blob WHERE id = one;
			gone := gone + 1;
		END IF;
	END LOOP;
	RETURN gone;
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA repo FROM PUBLIC;
GRANT EXECUTE ON FUNCTION repo.blob_write(uuid, bigint, bigint, bytea), repo.blob_sweep(integer),
	repo.blob_settle(jsonb, bigint) TO boardwalk_repo;
