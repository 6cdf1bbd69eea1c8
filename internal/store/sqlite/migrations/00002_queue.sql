-- +goose Up

-- Times are microseconds since 1970, UTC, of the clock of the process that owns
-- the file. Payloads never change and are apart from the state, which does.

CREATE TABLE queues (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    name         TEXT    NOT NULL UNIQUE,
    bucket       INTEGER NOT NULL UNIQUE, -- of its content: a purge begins a new one
    fifo         INTEGER NOT NULL,
    version      INTEGER NOT NULL,
    created      INTEGER NOT NULL,
    modified     INTEGER NOT NULL,
    dead_letter  TEXT    NOT NULL,        -- a queue's name, or ''
    doc          TEXT    NOT NULL         -- settings and tags
) STRICT;

CREATE INDEX queues_by_dead_letter ON queues (dead_letter, name) WHERE dead_letter <> '';

-- The last number given to a bucket, a message and a move task.
CREATE TABLE queue_numbers (
    kind TEXT    NOT NULL PRIMARY KEY,
    last INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO queue_numbers (kind, last) VALUES ('bucket', 0), ('message', 0), ('move', 0);

CREATE TABLE queue_payloads (
    id         INTEGER PRIMARY KEY, -- the first sequence number of its message
    body       BLOB NOT NULL,
    attributes BLOB,
    sender     TEXT NOT NULL
) STRICT;

CREATE TABLE queue_messages (
    bucket   INTEGER NOT NULL,
    seq      INTEGER NOT NULL,
    id       TEXT    NOT NULL,
    payload  INTEGER NOT NULL,
    rank     INTEGER NOT NULL,           -- 9 - priority
    grp      TEXT    NOT NULL,           -- '' for none
    locking  INTEGER NOT NULL,           -- 1: of a FIFO queue
    dedup    TEXT    NOT NULL,
    sent     INTEGER NOT NULL,
    since    INTEGER NOT NULL,           -- what retention counts from
    gen      INTEGER NOT NULL DEFAULT 0, -- of the last delivery
    hold     INTEGER NOT NULL DEFAULT 0, -- 0 none, 1 leased, 2 held for its group
    visible  INTEGER NOT NULL,           -- when the hold or the delay ends
    due      INTEGER NOT NULL DEFAULT 0, -- when to set it aside; 0: not
    receives INTEGER NOT NULL DEFAULT 0,
    received INTEGER NOT NULL DEFAULT 0,
    first    INTEGER NOT NULL DEFAULT 0,
    worker   TEXT    NOT NULL DEFAULT '',
    letter   INTEGER NOT NULL DEFAULT 0, -- 1: it has one
    history  BLOB,                       -- attempts that did not end well
    PRIMARY KEY (bucket, seq)
) STRICT, WITHOUT ROWID;

-- What may be received: of each rank, in the order of becoming visible. The
-- hold is there to be counted.
CREATE INDEX queue_messages_ready ON queue_messages (bucket, rank, visible, seq, hold) WHERE locking = 0 AND due = 0;
CREATE INDEX queue_messages_due ON queue_messages (due) WHERE due > 0;
-- Of a FIFO group: its order, and when it is locked and has something.
CREATE INDEX queue_messages_group ON queue_messages (bucket, grp, seq) WHERE locking = 1;
CREATE INDEX queue_messages_held ON queue_messages (bucket, grp, hold, visible, due) WHERE locking = 1;

-- The FIFO groups that hold messages, and when each has one to receive.
CREATE TABLE queue_groups (
    bucket INTEGER NOT NULL,
    grp    TEXT    NOT NULL,
    ready  INTEGER NOT NULL,
    PRIMARY KEY (bucket, grp)
) STRICT, WITHOUT ROWID;

CREATE INDEX queue_groups_by_ready ON queue_groups (bucket, ready, grp);

CREATE TABLE queue_letters (
    bucket INTEGER NOT NULL,
    seq    INTEGER NOT NULL,
    doc    BLOB    NOT NULL,
    PRIMARY KEY (bucket, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE queue_dedups (
    queue INTEGER NOT NULL,
    key   TEXT    NOT NULL,
    sent  INTEGER NOT NULL,
    id    TEXT    NOT NULL,
    seq   INTEGER NOT NULL,
    PRIMARY KEY (queue, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX queue_dedups_by_time ON queue_dedups (sent);

-- Buckets that are no queue's any more.
CREATE TABLE queue_leftovers (
    bucket INTEGER PRIMARY KEY
) STRICT;

CREATE TABLE queue_moves (
    number      INTEGER PRIMARY KEY, -- in the order of their start
    id          TEXT    NOT NULL UNIQUE,
    source      TEXT    NOT NULL,
    destination TEXT    NOT NULL,
    rate        INTEGER NOT NULL,
    state       TEXT    NOT NULL,
    failure     TEXT    NOT NULL DEFAULT '',
    started     INTEGER NOT NULL,
    moved       INTEGER NOT NULL DEFAULT 0,
    to_move     INTEGER NOT NULL,
    bucket      INTEGER NOT NULL,
    cursor      INTEGER NOT NULL DEFAULT 0, -- moved or passed over up to here
    last        INTEGER NOT NULL,           -- what is beyond came later
    next        INTEGER NOT NULL            -- when the rate allows the next step
) STRICT;

CREATE INDEX queue_moves_by_source ON queue_moves (source, number DESC);
CREATE UNIQUE INDEX queue_moves_running ON queue_moves (source) WHERE state = 'running';
