-- How far the readers of an outbox are. Several processes may run this at once.
SELECT pg_advisory_xact_lock(hashtextextended('bezoar cdc {schema}', 0));

CREATE TABLE IF NOT EXISTS {schema}.cdc (
	slot       text PRIMARY KEY,
	system     text NOT NULL,
	timeline   integer NOT NULL,
	position   pg_lsn NOT NULL,                 -- everything that was committed before is done
	partial    pg_lsn NOT NULL DEFAULT '0/0',   -- the transaction of which a part is done
	changes    bigint NOT NULL DEFAULT 0,       -- how many of its changes are
	copied     text[] NOT NULL DEFAULT '{}',    -- tables whose rows were copied
	health     text NOT NULL DEFAULT 'starting',
	reason     text NOT NULL DEFAULT '',
	health_at  timestamptz NOT NULL DEFAULT now(),
	changed_at timestamptz NOT NULL DEFAULT now()
);

-- write_changes does what write does, for many events and in three statements: first
-- the locks of all keys, in their order, then the positions.
CREATE OR REPLACE FUNCTION {schema}.write_changes(topics text[], keys text[], types text[], payloads bytea[], ids text[]) RETURNS void
LANGUAGE plpgsql SET jit = off AS $$
DECLARE
	topics_ text[];
	keys_ text[];
	lanes_ bigint[];
	seqs_ bigint[];
BEGIN
	WITH counted AS (
		INSERT INTO {schema}.keys AS k (topic, key, seq)
		SELECT u.topic, u.key, count(*) FROM unnest(topics, keys) u (topic, key) WHERE u.key <> '' GROUP BY 1, 2 ORDER BY 1, 2
		ON CONFLICT ON CONSTRAINT keys_pkey DO UPDATE SET seq = k.seq + excluded.seq RETURNING k.topic, k.key, k.lane, k.seq
	)
	SELECT array_agg(topic), array_agg(key), array_agg(lane), array_agg(seq) INTO topics_, keys_, lanes_, seqs_ FROM counted;

	WITH numbered AS (
		SELECT u.*, l.lane, coalesce(l.seq + row_number() OVER same - count(*) OVER (PARTITION BY u.topic, u.key), 0) AS seq
		FROM unnest(topics, keys, types, payloads, ids) WITH ORDINALITY u (topic, key, type, payload, id, n)
		LEFT JOIN unnest(topics_, keys_, lanes_, seqs_) l (topic, key, lane, seq) ON l.topic = u.topic AND l.key = u.key
		WINDOW same AS (PARTITION BY u.topic, u.key ORDER BY u.n)
	), placed AS MATERIALIZED (
		SELECT o.*, nextval('{schema}.positions') AS position, clock_timestamp() AS at FROM (SELECT * FROM numbered ORDER BY n) o
	), kept AS (
		INSERT INTO {schema}.events (position, written_at, id, topic, key, seq, type, headers, payload)
		SELECT position, at, coalesce(nullif(id, ''), gen_random_uuid()::text), topic, key, seq, coalesce(nullif(type, ''), topic), '{}', payload FROM placed
	)
	INSERT INTO {schema}.pending (position, written_at, lane, bytes, topic)
	SELECT position, at, lane, octet_length(payload) + octet_length(key) + 2, topic FROM placed;
END $$;
