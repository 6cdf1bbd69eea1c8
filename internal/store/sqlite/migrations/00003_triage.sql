-- +goose Up

-- Poison is recognised by a message's payload, dead letters are triaged.

ALTER TABLE queue_messages ADD COLUMN fp      BLOB;                       -- of the payload; NULL: not recognised
ALTER TABLE queue_messages ADD COLUMN holding INTEGER NOT NULL DEFAULT 0; -- with how many its worker vanished
ALTER TABLE queue_messages ADD COLUMN lineage BLOB;                       -- of what was a dead letter before

-- A message whose due is negative waits for a copy of its to end; this is the
-- order in which those that do take their turns.
CREATE INDEX queue_messages_parked ON queue_messages (bucket, fp, rank, visible, seq) WHERE due < 0;
-- Of FIFO queues: what is in flight or delayed, to be counted.
CREATE INDEX queue_messages_later ON queue_messages (bucket, visible, hold) WHERE locking = 1;

-- A FIFO group waits as a whole: nothing overtakes its first message.
ALTER TABLE queue_groups ADD COLUMN waits BLOB; -- for a copy with this payload to end
DROP INDEX queue_groups_by_ready;
CREATE INDEX queue_groups_by_ready ON queue_groups (bucket, ready, grp) WHERE waits IS NULL;
CREATE INDEX queue_groups_waiting ON queue_groups (bucket, waits, ready) WHERE waits IS NOT NULL;

-- How many messages a bucket holds.
CREATE TABLE queue_sizes (
    bucket INTEGER PRIMARY KEY,
    n      INTEGER NOT NULL
) STRICT;

INSERT INTO queue_sizes (bucket, n) SELECT bucket, count(*) FROM queue_messages GROUP BY bucket;

CREATE TABLE queue_cases (
    queue   INTEGER NOT NULL,
    payload BLOB    NOT NULL,
    state   INTEGER NOT NULL,
    proven  INTEGER NOT NULL,
    strikes INTEGER NOT NULL,
    level   INTEGER NOT NULL,
    since   INTEGER NOT NULL,
    touched INTEGER NOT NULL,
    until   INTEGER NOT NULL,
    kept    INTEGER NOT NULL, -- the later of the two: forgotten a time after it
    same    INTEGER NOT NULL,
    class   TEXT    NOT NULL,
    failure TEXT    NOT NULL,
    reason  TEXT    NOT NULL,
    PRIMARY KEY (queue, payload)
) STRICT, WITHOUT ROWID;

CREATE INDEX queue_cases_by_state ON queue_cases (queue, state, touched);
CREATE INDEX queue_cases_by_time ON queue_cases (kept);

-- The trash is a bucket of its own, under a name that no queue can have.
UPDATE queue_numbers SET last = last + 1 WHERE kind = 'bucket';
INSERT INTO queues (name, bucket, fifo, version, created, modified, dead_letter, doc)
    SELECT '.trash', last, 0, 1, 0, 0, '', '{"settings":{}}' FROM queue_numbers WHERE kind = 'bucket';

-- What triage asks of dead letters, apart from their documents and bodies.
CREATE TABLE queue_letter_groups (
    id       INTEGER PRIMARY KEY,
    bucket   INTEGER NOT NULL,
    grp      TEXT    NOT NULL,
    n        INTEGER NOT NULL, -- how many letters it has
    redriven INTEGER NOT NULL, -- of them, sent again before
    UNIQUE (bucket, grp)
) STRICT;

CREATE TABLE queue_deaths (
    seq      INTEGER PRIMARY KEY,
    bucket   INTEGER NOT NULL,
    gid      INTEGER NOT NULL, -- its group
    died     INTEGER NOT NULL,
    redriven INTEGER NOT NULL,
    id       TEXT    NOT NULL,
    origin   TEXT    NOT NULL,
    class    TEXT    NOT NULL
) STRICT;

INSERT INTO queue_deaths (seq, bucket, gid, died, redriven, id, origin, class)
    SELECT l.seq, l.bucket, 0, m.since, 0, m.id, json_extract(CAST(l.doc AS TEXT), '$.origin'), json_extract(CAST(l.doc AS TEXT), '$.class')
    FROM queue_letters l JOIN queue_messages m ON m.bucket = l.bucket AND m.seq = l.seq;
UPDATE queue_letters SET doc = CAST(json_set(CAST(doc AS TEXT), '$.group', json_extract(CAST(doc AS TEXT), '$.class') || ':' ||
    coalesce(json_extract(CAST(doc AS TEXT), '$.failure'), json_extract(CAST(doc AS TEXT), '$.reason'), '')) AS BLOB);
INSERT INTO queue_letter_groups (bucket, grp, n, redriven)
    SELECT bucket, json_extract(CAST(doc AS TEXT), '$.group') AS grp, count(*), 0 FROM queue_letters GROUP BY 1, 2;
UPDATE queue_deaths SET gid = (SELECT g.id FROM queue_letters l JOIN queue_letter_groups g
    ON g.bucket = l.bucket AND g.grp = json_extract(CAST(l.doc AS TEXT), '$.group')
    WHERE l.bucket = queue_deaths.bucket AND l.seq = queue_deaths.seq);

CREATE INDEX queue_deaths_by_queue ON queue_deaths (bucket, seq);
CREATE INDEX queue_deaths_by_group ON queue_deaths (gid, seq);
CREATE INDEX queue_deaths_by_time ON queue_deaths (gid, died, seq);
CREATE INDEX queue_deaths_by_id ON queue_deaths (id);

ALTER TABLE queue_moves ADD COLUMN kind     TEXT    NOT NULL DEFAULT '';
ALTER TABLE queue_moves ADD COLUMN doc      TEXT    NOT NULL DEFAULT '{}'; -- what does not change
ALTER TABLE queue_moves ADD COLUMN ended    INTEGER NOT NULL DEFAULT 0;
ALTER TABLE queue_moves ADD COLUMN done     INTEGER NOT NULL DEFAULT 0;
ALTER TABLE queue_moves ADD COLUMN dead     INTEGER NOT NULL DEFAULT 0;
ALTER TABLE queue_moves ADD COLUMN forgiven INTEGER NOT NULL DEFAULT 0;
DROP INDEX queue_moves_running;
CREATE UNIQUE INDEX queue_moves_running ON queue_moves (source) WHERE kind = '' AND state IN ('running', 'paused', 'halted');
CREATE INDEX queue_moves_live ON queue_moves (number) WHERE state IN ('running', 'paused', 'halted');

INSERT INTO queue_numbers (kind, last) VALUES ('mark', 0);

CREATE TABLE queue_marks (
    key     TEXT    NOT NULL PRIMARY KEY,
    version INTEGER NOT NULL,
    put     INTEGER NOT NULL,
    until   INTEGER NOT NULL,
    doc     BLOB    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX queue_marks_by_time ON queue_marks (until);

CREATE TABLE queue_audit (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    at     INTEGER NOT NULL,
    doc    TEXT    NOT NULL
) STRICT;
