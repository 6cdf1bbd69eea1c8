-- An outbox of Bezoar, version 1, for PostgreSQL 14 and later.
--
-- You can run it again: it keeps existing tables and replaces functions. Run it as the
-- role that the relay uses. A producer's role needs two rights:
--
--     GRANT USAGE ON SCHEMA {schema} TO app;
--     GRANT EXECUTE ON FUNCTION {schema}.write TO app;
--
-- and writes an event in the transaction that changes its own tables:
--
--     SELECT {schema}.write('orders.paid', '4711', payload => convert_to('{"total": 12}', 'UTF8'));
BEGIN;

CREATE SCHEMA IF NOT EXISTS {schema};

CREATE TABLE IF NOT EXISTS {schema}.meta (
	one boolean PRIMARY KEY DEFAULT true CHECK (one),
	id uuid NOT NULL DEFAULT gen_random_uuid(),
	version integer NOT NULL,
	made timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Only one script at a time may create or upgrade an outbox, and none may downgrade it.
SELECT pg_advisory_xact_lock(hashtextextended('bezoar outbox {schema}', 0));
DO $$ BEGIN
	IF (SELECT version FROM {schema}.meta) > 1 THEN
		RAISE EXCEPTION 'the outbox in schema {schema} was created by a later version of Bezoar';
	END IF;
END $$;
INSERT INTO {schema}.meta (version) VALUES (1) ON CONFLICT (one) DO UPDATE SET version = 1;

CREATE SEQUENCE IF NOT EXISTS {schema}.positions;

-- The written events. Rows never change, except when an operator edits a parked event.
CREATE TABLE IF NOT EXISTS {schema}.events (
	position bigint NOT NULL,
	written_at timestamptz NOT NULL,
	id text NOT NULL,
	topic text NOT NULL,
	key text NOT NULL,
	seq bigint NOT NULL,
	type text NOT NULL,
	headers jsonb NOT NULL,
	payload bytea NOT NULL,
	PRIMARY KEY (position, written_at)
) PARTITION BY RANGE (written_at);

-- Events without a partition: none was created in time, or the event outlived its own.
CREATE TABLE IF NOT EXISTS {schema}.events_rest PARTITION OF {schema}.events DEFAULT;

CREATE TABLE IF NOT EXISTS {schema}.partitions (
	name name PRIMARY KEY,
	first timestamptz NOT NULL, -- that it takes
	after timestamptz NOT NULL  -- that it does not take
);

-- One row per topic and key. Locking it orders the events of a key. The row also counts them.
CREATE TABLE IF NOT EXISTS {schema}.keys (
	topic text NOT NULL,
	key text NOT NULL,
	lane bigint GENERATED ALWAYS AS IDENTITY,
	seq bigint NOT NULL,
	PRIMARY KEY (topic, key)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);

-- One row per undelivered event, deleted on delivery.
-- state: 0 ready, 1 retrying, 2 parked, 3 behind an earlier event of its lane.
CREATE TABLE IF NOT EXISTS {schema}.pending (
	position bigint PRIMARY KEY,
	written_at timestamptz NOT NULL,
	lane bigint, -- null: no key
	not_before timestamptz,
	bytes integer NOT NULL,
	state smallint NOT NULL DEFAULT 0,
	attempts smallint NOT NULL DEFAULT 0,
	blamed smallint NOT NULL DEFAULT 0,
	topic text NOT NULL,
	parked_at timestamptz,
	evidence jsonb
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_cost_delay = 0,
	autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 100000);
-- The sum keeps the planner from searching a topic's first events in the primary key,
-- among those of all topics.
CREATE INDEX IF NOT EXISTS pending_ready ON {schema}.pending (topic, (position + 0)) WHERE state = 0;
CREATE INDEX IF NOT EXISTS pending_held ON {schema}.pending (lane, position) WHERE state <> 0 AND lane IS NOT NULL;
CREATE INDEX IF NOT EXISTS pending_retrying ON {schema}.pending (not_before) WHERE state = 1;
CREATE INDEX IF NOT EXISTS pending_set_aside ON {schema}.pending (position) WHERE state IN (1, 2);

-- Statistics of the relay, for display.
CREATE TABLE IF NOT EXISTS {schema}.notes (
	one boolean PRIMARY KEY DEFAULT true CHECK (one),
	at timestamptz NOT NULL,
	stats text NOT NULL
);

CREATE TABLE IF NOT EXISTS {schema}.lease (
	one boolean PRIMARY KEY DEFAULT true CHECK (one),
	owner text NOT NULL DEFAULT '',
	epoch bigint NOT NULL DEFAULT 0,
	until timestamptz NOT NULL DEFAULT '-infinity'
);
INSERT INTO {schema}.lease DEFAULT VALUES ON CONFLICT DO NOTHING;

-- Batches in delivery.
CREATE TABLE IF NOT EXISTS {schema}.flights (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	epoch bigint NOT NULL,
	topic text NOT NULL,
	since timestamptz NOT NULL DEFAULT clock_timestamp(),
	positions bigint[] NOT NULL
);

-- write adds an event to the transaction and returns its position. It locks the key before
-- it assigns the position, so positions of a key have the order of commits.
CREATE OR REPLACE FUNCTION {schema}.write(topic text, key text DEFAULT '', type text DEFAULT '', headers jsonb DEFAULT '{}',
	payload bytea DEFAULT '', id text DEFAULT '') RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
	lane_ bigint;
	seq_ bigint := 0;
	at_ timestamptz;
	position_ bigint;
BEGIN
	key := coalesce(key, '');
	type := coalesce(nullif(type, ''), topic);
	headers := coalesce(headers, '{}');
	payload := coalesce(payload, '');
	id := coalesce(nullif(id, ''), gen_random_uuid()::text);
	IF topic IS NULL OR topic !~ '^[A-Za-z0-9._-]{1,255}$' THEN
		RAISE EXCEPTION 'outbox: the topic % must have 1 to 255 letters, digits, dots, dashes and underscores', coalesce(quote_literal(left(topic, 100)), 'null')
			USING ERRCODE = 'check_violation';
	ELSIF octet_length(key) > 512 OR octet_length(type) > 255 OR octet_length(id) > 64 THEN
		RAISE EXCEPTION 'outbox: the key may have at most 512 bytes, the type 255, the id 64' USING ERRCODE = 'check_violation';
	ELSIF octet_length(payload) > 16777216 OR octet_length(headers::text) > 131072 THEN
		RAISE EXCEPTION 'outbox: the payload may have at most 16 MiB, the headers 16 KiB' USING ERRCODE = 'check_violation';
	ELSIF headers <> '{}' AND (jsonb_typeof(headers) <> 'object' OR jsonb_path_exists(headers, 'strict $.* ? (@.type() != "string")')) THEN
		RAISE EXCEPTION 'outbox: headers must be a JSON object of strings' USING ERRCODE = 'check_violation';
	ELSIF headers <> '{}' AND (SELECT count(*) > 64 OR sum(octet_length(h.key) + octet_length(h.value)) > 16384 OR bool_or(h.key = '')
			FROM jsonb_each_text(headers) h) THEN
		RAISE EXCEPTION 'outbox: at most 64 headers with names, and with 16 KiB in total' USING ERRCODE = 'check_violation';
	END IF;
	IF key <> '' THEN
		UPDATE {schema}.keys k SET seq = k.seq + 1 WHERE k.topic = topic AND k.key = key RETURNING k.lane, k.seq INTO lane_, seq_;
		IF NOT FOUND THEN
			INSERT INTO {schema}.keys AS k (topic, key, seq) VALUES (topic, key, 1)
				ON CONFLICT ON CONSTRAINT keys_pkey DO UPDATE SET seq = k.seq + 1 RETURNING k.lane, k.seq INTO lane_, seq_;
		END IF;
	END IF;
	position_ := nextval('{schema}.positions');
	at_ := clock_timestamp();
	INSERT INTO {schema}.events VALUES (position_, at_, id, topic, key, seq_, type, headers, payload);
	INSERT INTO {schema}.pending (position, written_at, lane, bytes, topic)
		VALUES (position_, at_, lane_, octet_length(payload) + octet_length(key) + octet_length(headers::text), topic);
	RETURN position_;
END $$;
REVOKE ALL ON FUNCTION {schema}.write FROM PUBLIC;

-- set_back handles a lease that lasts longer than any relay requested: the database's clock
-- was set back. It shortens the waits of retrying events by the same time.
CREATE OR REPLACE FUNCTION {schema}.set_back(longest interval) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	by_ interval;
BEGIN
	SELECT until - clock_timestamp() - longest INTO by_ FROM {schema}.lease WHERE until > clock_timestamp() + longest + interval '1 second';
	IF FOUND THEN
		UPDATE {schema}.pending SET not_before = not_before - by_ WHERE state = 1;
	END IF;
END $$;

-- acquire takes an expired lease, and renew extends it. They lock the table, because table
-- locks are granted in order: the row alone might never be free of the many readers.
CREATE OR REPLACE FUNCTION {schema}.acquire(owner_ text, ttl interval) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	longest CONSTANT interval := greatest(4 * ttl, interval '1 minute');
	epoch_ bigint;
BEGIN
	IF EXISTS (SELECT FROM {schema}.lease WHERE owner = owner_ OR until NOT BETWEEN clock_timestamp() AND clock_timestamp() + longest) THEN
		LOCK TABLE {schema}.lease IN EXCLUSIVE MODE;
		PERFORM {schema}.set_back(longest);
		UPDATE {schema}.lease SET owner = owner_, epoch = epoch + 1, until = clock_timestamp() + ttl
			WHERE owner = owner_ OR until NOT BETWEEN clock_timestamp() AND clock_timestamp() + longest RETURNING epoch INTO epoch_;
	END IF;
	RETURN epoch_;
END $$;
CREATE OR REPLACE FUNCTION {schema}.renew(current_ bigint, ttl interval) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	LOCK TABLE {schema}.lease IN EXCLUSIVE MODE;
	IF NOT EXISTS (SELECT FROM {schema}.lease WHERE epoch = current_) THEN
		RAISE EXCEPTION 'another relay has taken over' USING ERRCODE = 'BZ001';
	END IF;
	PERFORM {schema}.set_back(ttl);
	UPDATE {schema}.lease SET until = clock_timestamp() + ttl;
END $$;

-- fence fails unless epoch is the current one, and prevents a takeover until the
-- transaction ends.
CREATE OR REPLACE FUNCTION {schema}.fence(current_ bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM FROM {schema}.lease WHERE epoch = current_ FOR SHARE;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'another relay has taken over' USING ERRCODE = 'BZ001';
	END IF;
END $$;

-- ready makes retrying events ready if their wait is over, and returns the topics that have
-- a ready event. It writes nothing if there is nothing to do.
CREATE OR REPLACE FUNCTION {schema}.ready(current_ bigint) RETURNS SETOF text
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $$
BEGIN
	IF EXISTS (SELECT FROM {schema}.pending WHERE state = 1 AND not_before <= clock_timestamp()) THEN
		PERFORM {schema}.fence(current_);
		-- The first event of a key must not become ready between two statements of a
		-- claim: the claim would take the second event.
		PERFORM pg_advisory_xact_lock(hashtextextended('bezoar outbox claims {schema}', 0));
		UPDATE {schema}.pending SET state = 0, not_before = NULL WHERE position IN (
			SELECT position FROM {schema}.pending WHERE state = 1 AND not_before <= clock_timestamp() ORDER BY not_before LIMIT 10000);
	ELSIF NOT EXISTS (SELECT FROM {schema}.lease WHERE epoch = current_) THEN
		RAISE EXCEPTION 'another relay has taken over' USING ERRCODE = 'BZ001';
	END IF;
	RETURN QUERY WITH RECURSIVE t AS (
		(SELECT topic FROM {schema}.pending WHERE state = 0 ORDER BY topic LIMIT 1)
		UNION ALL
		SELECT (SELECT p.topic FROM {schema}.pending p WHERE p.state = 0 AND p.topic > t.topic ORDER BY p.topic LIMIT 1) FROM t WHERE t.topic IS NOT NULL
	) SELECT topic FROM t WHERE topic IS NOT NULL;
END $$;

-- discard deletes events and makes the events behind them ready, some at a time: the
-- deletion of the last one continues here.
CREATE OR REPLACE FUNCTION {schema}.discard(gone bigint[]) RETURNS bigint
LANGUAGE plpgsql SET enable_seqscan = off SET jit = off AS $$
DECLARE
	n bigint;
BEGIN
	IF EXISTS (SELECT FROM {schema}.pending WHERE lane IS NOT NULL AND state <> 0) THEN
		WITH lanes AS (
			SELECT DISTINCT lane FROM {schema}.pending WHERE position = ANY (gone) AND lane IS NOT NULL
		), free AS (
			SELECT lane FROM lanes l WHERE 3 = (SELECT h.state FROM {schema}.pending h
				WHERE h.lane = l.lane AND h.state <> 0 AND h.position <> ALL (gone) ORDER BY h.position LIMIT 1)
		)
		UPDATE {schema}.pending SET state = 0 WHERE position IN (
			SELECT h.position FROM free CROSS JOIN LATERAL (SELECT b.position FROM {schema}.pending b
				WHERE b.lane = free.lane AND b.state <> 0 AND b.position <> ALL (gone) ORDER BY b.position LIMIT 1000) h);
	END IF;
	DELETE FROM {schema}.pending WHERE position = ANY (gone);
	GET DIAGNOSTICS n = ROW_COUNT;
	RETURN n;
END $$;

-- settle ends a flight. failed is an array of objects.
CREATE OR REPLACE FUNCTION {schema}.settle(flight_ bigint, delivered bigint[], failed jsonb) RETURNS void
LANGUAGE plpgsql SET enable_seqscan = off SET jit = off AS $$
BEGIN
	IF cardinality(delivered) > 0 THEN
		PERFORM {schema}.discard(delivered);
	END IF;
	IF failed IS NOT NULL THEN
		UPDATE {schema}.pending p SET attempts = least(u.attempts, 32767), blamed = least(u.blamed, 32767), evidence = u.evidence,
				state = CASE WHEN u.parked THEN 2 WHEN u.wait > 0 THEN 1 ELSE 0 END,
				parked_at = CASE WHEN u.parked THEN clock_timestamp() END,
				not_before = CASE WHEN NOT u.parked AND u.wait > 0 THEN clock_timestamp() + u.wait * interval '1 microsecond' END
			FROM jsonb_to_recordset(failed) u (position bigint, attempts integer, blamed integer, parked boolean, wait bigint, evidence jsonb)
			WHERE p.position = u.position;
	END IF;
	DELETE FROM {schema}.flights WHERE id = flight_;
END $$;

-- claim creates a flight and returns its events. If it returns none, no event is ready. If
-- more is true, the examined events are behind others, and further ones may be ready.
CREATE OR REPLACE FUNCTION {schema}.claim(current_ bigint, topic_ text, events_ integer, bytes_ bigint)
	RETURNS TABLE (flight bigint, positions bigint[], written timestamptz[], attempts smallint[], blamed smallint[], more boolean)
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET jit = off AS $$
DECLARE
	lanes bigint[];
	sizes integer[];
	behind bigint[];
	total bigint;
	picky boolean;
	n integer;
BEGIN
	SELECT array_agg(c.position), array_agg(c.written_at), array_agg(c.attempts), array_agg(c.blamed), array_agg(c.lane), array_agg(c.bytes),
			sum(c.bytes), bool_or(c.blamed > 0 OR c.attempts > 2), count(*)
		INTO positions, written, attempts, blamed, lanes, sizes, total, picky, n
		FROM (SELECT * FROM {schema}.pending p WHERE p.topic = topic_ AND p.state = 0 ORDER BY p.position + 0 LIMIT events_) c;
	more := false;
	IF n > 0 AND EXISTS (SELECT FROM {schema}.pending p WHERE p.lane IS NOT NULL AND p.state <> 0) THEN
		behind := ARRAY (SELECT c.position FROM unnest(positions, lanes) c (position, lane) WHERE c.lane IS NOT NULL AND EXISTS (
			SELECT FROM {schema}.pending e WHERE e.lane = c.lane AND e.state <> 0 AND e.position < c.position));
		IF cardinality(behind) > 0 THEN
			UPDATE {schema}.pending p SET state = 3 WHERE p.position = ANY (behind);
			more := true;
			SELECT array_agg(c.position), array_agg(c.written_at), array_agg(c.attempts), array_agg(c.blamed), array_agg(c.bytes), sum(c.bytes), count(*)
				INTO positions, written, attempts, blamed, sizes, total, n
				FROM unnest(positions, written, attempts, blamed, sizes) c (position, written_at, attempts, blamed, bytes)
				WHERE c.position <> ALL (behind);
		END IF;
	END IF;
	IF n = 0 THEN
		positions := NULL;
		RETURN NEXT;
		RETURN;
	END IF;
	IF picky OR total > bytes_ THEN
		total := 0;
		FOR i IN 1 .. n LOOP
			total := total + sizes[i];
			EXIT WHEN i > 1 AND (total > bytes_ OR blamed[i] > 0 OR attempts[i] > 2);
			n := i;
			EXIT WHEN blamed[i] > 0 OR attempts[i] > 2;
		END LOOP;
		positions := positions[:n];
		written := written[:n];
		attempts := attempts[:n];
		blamed := blamed[:n];
	END IF;
	INSERT INTO {schema}.flights (epoch, topic, positions) VALUES (current_, topic_, positions) RETURNING id INTO flight;
	RETURN NEXT;
END $$;

-- advance settles a flight, if one is given, and claims the next one, if a topic is given.
CREATE OR REPLACE FUNCTION {schema}.advance(current_ bigint, flight_ bigint, delivered bigint[], failed jsonb,
	topic_ text, events_ integer, bytes_ bigint)
	RETURNS TABLE (flight bigint, positions bigint[], written timestamptz[], attempts smallint[], blamed smallint[], more boolean)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
	PERFORM {schema}.fence(current_);
	IF flight_ IS NOT NULL THEN
		PERFORM {schema}.settle(flight_, delivered, failed);
	END IF;
	IF topic_ IS NOT NULL THEN
		PERFORM pg_advisory_xact_lock_shared(hashtextextended('bezoar outbox claims {schema}', 0));
		-- An earlier claim whose answer was lost.
		DELETE FROM {schema}.flights WHERE topic = topic_ AND epoch = current_;
		RETURN QUERY SELECT * FROM {schema}.claim(current_, topic_, events_, bytes_);
	END IF;
END $$;

-- make_partitions creates the partitions of the next time steps.
CREATE OR REPLACE FUNCTION {schema}.make_partitions(step interval, steps integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
	first_ timestamptz;
	name_ text;
	made integer := 0;
BEGIN
	PERFORM set_config('lock_timeout', '100ms', true);
	LOOP
		SELECT greatest(max(after), date_bin(step, clock_timestamp(), 'epoch'),
			(SELECT date_bin(step, max(written_at), 'epoch') + step FROM {schema}.events_rest)) INTO first_ FROM {schema}.partitions;
		EXIT WHEN first_ > clock_timestamp() + steps * step;
		-- The number distinguishes it from an earlier partition of the same time.
		name_ := 'events_' || to_char(first_ AT TIME ZONE 'UTC', 'YYYYMMDD_HH24MISS') || '_' || nextval('{schema}.positions');
		EXECUTE format('CREATE TABLE {schema}.%I PARTITION OF {schema}.events FOR VALUES FROM (%L) TO (%L)', name_, first_, first_ + step);
		INSERT INTO {schema}.partitions VALUES (name_, first_, first_ + step);
		made := made + 1;
	END LOOP;
	RETURN made;
EXCEPTION WHEN lock_not_available THEN
	RETURN 0; -- next time
END $$;

-- drop_partition drops one partition whose events are all older than keep, if it can be
-- locked at once. It moves undelivered events. If there are many, it keeps the partition,
-- because moving them blocks producers.
CREATE OR REPLACE FUNCTION {schema}.drop_partition(keep interval) RETURNS TABLE (dropped integer, moved bigint) LANGUAGE plpgsql AS $$
DECLARE
	most CONSTANT bigint := 5000;
	p record;
	stay bigint; -- events of p that are not delivered
BEGIN
	dropped := 0;
	moved := 0;
	FOR p IN SELECT * FROM {schema}.partitions WHERE after < clock_timestamp() - keep ORDER BY after LOOP
		SELECT count(*) INTO stay FROM (SELECT FROM {schema}.pending WHERE written_at >= p.first AND written_at < p.after LIMIT most + 1) n;
		EXIT WHEN stay <= most;
	END LOOP;
	IF stay IS NULL OR stay > most THEN
		RETURN NEXT;
		RETURN;
	END IF;
	PERFORM set_config('lock_timeout', '50ms', true);
	-- Lock the parent first, as producers do. A waiting lock request blocks later ones.
	LOCK TABLE ONLY {schema}.events IN ACCESS EXCLUSIVE MODE;
	EXECUTE format('CREATE TEMP TABLE bezoar_outbox_moved ON COMMIT DROP AS SELECT e.* FROM {schema}.%I e JOIN {schema}.pending USING (position)', p.name);
	EXECUTE format('DROP TABLE {schema}.%I', p.name);
	DELETE FROM {schema}.partitions WHERE name = p.name;
	INSERT INTO {schema}.events SELECT * FROM bezoar_outbox_moved;
	GET DIAGNOSTICS moved = ROW_COUNT;
	DROP TABLE bezoar_outbox_moved;
	dropped := 1;
	RETURN NEXT;
EXCEPTION WHEN lock_not_available THEN
	dropped := -1; -- somebody writes
	moved := 0;
	RETURN NEXT;
END $$;

-- sweep deletes delivered events without a partition.
CREATE OR REPLACE FUNCTION {schema}.sweep(keep interval, limit_ integer) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
BEGIN
	DELETE FROM {schema}.events_rest WHERE ctid = ANY (ARRAY (
		SELECT e.ctid FROM {schema}.events_rest e WHERE e.written_at < clock_timestamp() - keep
			AND NOT EXISTS (SELECT FROM {schema}.pending p WHERE p.position = e.position) LIMIT limit_));
	GET DIAGNOSTICS n = ROW_COUNT;
	RETURN n;
END $$;

-- upkeep is one step of housekeeping. It is one statement, so that a relay that is stopped
-- in the middle does not keep the lease locked.
CREATE OR REPLACE FUNCTION {schema}.upkeep(current_ bigint, keep interval, step interval, steps integer, batch integer)
	RETURNS TABLE (deleted bigint, dropped integer, moved bigint) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM {schema}.fence(current_);
	PERFORM {schema}.make_partitions(step, steps);
	deleted := {schema}.sweep(keep, batch);
	SELECT d.dropped, d.moved INTO dropped, moved FROM {schema}.drop_partition(keep) d;
	RETURN NEXT;
END $$;

SELECT {schema}.make_partitions(interval '6 hours', 8);

COMMIT;
