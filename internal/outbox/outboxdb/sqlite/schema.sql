-- An outbox of Bezoar, version 1, for SQLite 3.35 and later.
--
-- You can run it again: it keeps existing tables. An application writes an event in the
-- transaction that changes its own tables:
--
--     INSERT INTO {schema}_write (topic, key, payload) VALUES ('orders.paid', '4711', '{"total": 12}');
BEGIN IMMEDIATE;

CREATE TABLE IF NOT EXISTS {schema}_meta (
	one INTEGER PRIMARY KEY CHECK (one = 1),
	id TEXT NOT NULL,
	version INTEGER NOT NULL,
	made INTEGER NOT NULL -- milliseconds since 1970, as all times here
);
INSERT OR IGNORE INTO {schema}_meta SELECT 1,
	substr(u, 1, 8) || '-' || substr(u, 9, 4) || '-4' || substr(u, 14, 3) || '-a' || substr(u, 18, 3) || '-' || substr(u, 21, 12), 1,
	CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) FROM (SELECT lower(hex(randomblob(16))) AS u);

-- The written events. Rows never change, except when an operator edits a parked event.
CREATE TABLE IF NOT EXISTS {schema}_events (
	position INTEGER PRIMARY KEY AUTOINCREMENT, -- no position comes again
	written_at INTEGER NOT NULL,
	id TEXT NOT NULL CHECK (length(CAST(id AS BLOB)) <= 64),
	topic TEXT NOT NULL CHECK (length(topic) BETWEEN 1 AND 255 AND topic NOT GLOB '*[^A-Za-z0-9._-]*'),
	k TEXT NOT NULL CHECK (length(CAST(k AS BLOB)) <= 512), -- the key
	seq INTEGER NOT NULL,
	type TEXT NOT NULL CHECK (length(CAST(type AS BLOB)) <= 255),
	headers TEXT NOT NULL CHECK (json_type(headers) = 'object' AND length(CAST(headers AS BLOB)) <= 131072),
	payload BLOB NOT NULL CHECK (length(payload) <= 16777216)
);
CREATE INDEX IF NOT EXISTS {schema}_events_id ON {schema}_events (id);

-- One row per topic and key counts its events.
CREATE TABLE IF NOT EXISTS {schema}_keys (
	lane INTEGER PRIMARY KEY,
	topic TEXT NOT NULL,
	k TEXT NOT NULL, -- the key
	seq INTEGER NOT NULL,
	UNIQUE (topic, k)
);

-- One row per undelivered event, deleted on delivery.
-- state: 0 ready, 1 retrying, 2 parked, 3 behind an earlier event of its lane.
CREATE TABLE IF NOT EXISTS {schema}_pending (
	position INTEGER PRIMARY KEY,
	written_at INTEGER NOT NULL,
	lane INTEGER, -- null: no key
	not_before INTEGER,
	bytes INTEGER NOT NULL,
	state INTEGER NOT NULL DEFAULT 0,
	attempts INTEGER NOT NULL DEFAULT 0,
	blamed INTEGER NOT NULL DEFAULT 0,
	topic TEXT NOT NULL,
	parked_at INTEGER,
	evidence TEXT
);
CREATE INDEX IF NOT EXISTS {schema}_pending_ready ON {schema}_pending (topic, position) WHERE state = 0;
CREATE INDEX IF NOT EXISTS {schema}_pending_held ON {schema}_pending (lane, position) WHERE state <> 0 AND lane IS NOT NULL;
CREATE INDEX IF NOT EXISTS {schema}_pending_retrying ON {schema}_pending (not_before) WHERE state = 1;

CREATE TABLE IF NOT EXISTS {schema}_lease (
	one INTEGER PRIMARY KEY CHECK (one = 1),
	owner TEXT NOT NULL,
	epoch INTEGER NOT NULL,
	until INTEGER NOT NULL
);
INSERT OR IGNORE INTO {schema}_lease VALUES (1, '', 0, 0);

-- Batches in delivery.
CREATE TABLE IF NOT EXISTS {schema}_flights (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	epoch INTEGER NOT NULL,
	topic TEXT NOT NULL,
	since INTEGER NOT NULL,
	positions TEXT NOT NULL
);

-- Producers insert into this view.
CREATE VIEW IF NOT EXISTS {schema}_write AS
	SELECT NULL AS topic, NULL AS key, NULL AS type, NULL AS headers, NULL AS payload, NULL AS id WHERE false;
DROP TRIGGER IF EXISTS {schema}_write_insert;
CREATE TRIGGER {schema}_write_insert INSTEAD OF INSERT ON {schema}_write BEGIN
	-- Checks run before any write, so that INSERT OR IGNORE leaves no gap in a key's numbers.
	SELECT CASE
		WHEN NEW.topic IS NULL OR CAST(NEW.topic AS TEXT) GLOB '*[^A-Za-z0-9._-]*' OR length(CAST(NEW.topic AS BLOB)) NOT BETWEEN 1 AND 255
			OR instr(CAST(NEW.topic AS BLOB), x'00') > 0
			THEN RAISE(ABORT, 'outbox: the topic must have 1 to 255 letters, digits, dots, dashes and underscores')
		WHEN length(CAST(NEW.key AS BLOB)) > 512 OR length(CAST(NEW.type AS BLOB)) > 255 OR length(CAST(NEW.id AS BLOB)) > 64
			THEN RAISE(ABORT, 'outbox: the key may have at most 512 bytes, the type 255, the id 64')
		WHEN length(CAST(NEW.payload AS BLOB)) > 16777216 OR length(CAST(NEW.headers AS BLOB)) > 131072
			THEN RAISE(ABORT, 'outbox: the payload may have at most 16 MiB, the headers 16 KiB')
		WHEN NEW.headers IS NOT NULL AND CASE WHEN json_valid(CAST(NEW.headers AS TEXT)) THEN json_type(CAST(NEW.headers AS TEXT)) <> 'object' ELSE true END
			THEN RAISE(ABORT, 'outbox: headers must be a JSON object of strings')
		WHEN EXISTS (SELECT 1 FROM json_each(CAST(NEW.headers AS TEXT)) h WHERE h.type <> 'text')
			THEN RAISE(ABORT, 'outbox: headers must be a JSON object of strings')
		WHEN (SELECT count(*) > 64 OR sum(length(CAST(h.key AS BLOB)) + length(CAST(h.value AS BLOB))) > 16384 OR max(h.key = '')
			OR max(instr(CAST(h.key AS BLOB), x'00') + instr(CAST(h.value AS BLOB), x'00')) > 0 FROM json_each(CAST(NEW.headers AS TEXT)) h)
			THEN RAISE(ABORT, 'outbox: at most 64 headers with names, without zero bytes, and with 16 KiB in total')
	END;
	-- Blobs become text: a key, topic or ID is the same in both.
	INSERT INTO {schema}_keys (topic, k, seq) SELECT CAST(NEW.topic AS TEXT), CAST(NEW.key AS TEXT), 1 WHERE coalesce(CAST(NEW.key AS TEXT), '') <> ''
		ON CONFLICT (topic, k) DO UPDATE SET seq = seq + 1;
	INSERT INTO {schema}_events (written_at, id, topic, k, seq, type, headers, payload) VALUES (
		CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER),
		coalesce(nullif(CAST(NEW.id AS TEXT), ''), (SELECT substr(u, 1, 8) || '-' || substr(u, 9, 4) || '-4' || substr(u, 14, 3) || '-a' || substr(u, 18, 3) || '-' || substr(u, 21, 12)
			FROM (SELECT lower(hex(randomblob(16))) AS u))),
		CAST(NEW.topic AS TEXT), coalesce(CAST(NEW.key AS TEXT), ''),
		coalesce((SELECT seq FROM {schema}_keys k WHERE k.topic = CAST(NEW.topic AS TEXT) AND k.k = CAST(NEW.key AS TEXT)), 0),
		coalesce(nullif(CAST(NEW.type AS TEXT), ''), CAST(NEW.topic AS TEXT)), coalesce(CAST(NEW.headers AS TEXT), '{}'), CAST(coalesce(NEW.payload, x'') AS BLOB));
	INSERT INTO {schema}_pending (position, written_at, lane, bytes, topic)
		SELECT e.position, e.written_at, (SELECT lane FROM {schema}_keys k WHERE k.topic = e.topic AND k.k = e.k),
			length(e.payload) + length(CAST(e.k AS BLOB)) + length(CAST(e.headers AS BLOB)), e.topic
		FROM {schema}_events e WHERE e.position = last_insert_rowid();
END;

COMMIT;
