-- +goose Up

-- Flows: runs with their instances and attempts, the nodes that hold them, and
-- what people want of them. Times are microseconds since 1970; 0 is none.

-- What tokens were given out to attempts.
CREATE TABLE flow_numbers (
    kind TEXT    NOT NULL PRIMARY KEY,
    last INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO flow_numbers (kind, last) VALUES ('token', 0);

-- Runs of one definition share it. sum is the SHA-256 of doc.
CREATE TABLE flow_definitions (
    sum BLOB NOT NULL PRIMARY KEY,
    doc TEXT NOT NULL
) STRICT;

-- A run is held while its owner's lease lasts.
CREATE TABLE flow_runs (
    id         TEXT    NOT NULL PRIMARY KEY,
    flow       TEXT    NOT NULL,
    definition BLOB    NOT NULL REFERENCES flow_definitions (sum),
    params     TEXT    NOT NULL,
    state      TEXT    NOT NULL CHECK (state IN ('RUNNING', 'HELD', 'SUCCESS', 'FAILED', 'CANCELLED')),
    why        TEXT    NOT NULL,
    due        INTEGER NOT NULL,
    created    INTEGER NOT NULL,
    deadline   INTEGER NOT NULL,
    ended      INTEGER NOT NULL,
    key        TEXT    NOT NULL,
    backfill   TEXT    NOT NULL,
    owner      TEXT    NOT NULL,
    epoch      INTEGER NOT NULL,
    version    INTEGER NOT NULL,
    pages      TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX flow_runs_key ON flow_runs (key) WHERE key <> '';
CREATE INDEX flow_runs_flow ON flow_runs (flow, id);
CREATE INDEX flow_runs_backfill ON flow_runs (backfill, id) WHERE backfill <> '';
CREATE INDEX flow_runs_open ON flow_runs (id) WHERE state IN ('RUNNING', 'HELD');
CREATE INDEX flow_runs_over ON flow_runs (ended) WHERE state IN ('SUCCESS', 'FAILED', 'CANCELLED');

CREATE TABLE flow_instances (
    run   TEXT    NOT NULL,
    task  TEXT    NOT NULL,
    idx   INTEGER NOT NULL,
    state TEXT    NOT NULL CHECK (state IN ('PENDING', 'READY', 'RUNNING', 'SUCCESS', 'FAILED', 'UPSTREAM_FAILED', 'RETRYING',
        'SENSING', 'DEAD_LETTER', 'HELD', 'SKIPPED', 'CANCELLED', 'INTERRUPTED')),
    doc   TEXT    NOT NULL,
    PRIMARY KEY (run, task, idx)
) STRICT, WITHOUT ROWID;

CREATE TABLE flow_attempts (
    run     TEXT    NOT NULL,
    task    TEXT    NOT NULL,
    idx     INTEGER NOT NULL,
    n       INTEGER NOT NULL,
    token   INTEGER NOT NULL,
    node    TEXT    NOT NULL,
    pool    TEXT    NOT NULL,
    slots   INTEGER NOT NULL,
    key     BLOB    NOT NULL,
    state   TEXT    NOT NULL CHECK (state IN ('intended', 'running', 'lost', 'ended')),
    started INTEGER NOT NULL,
    ended   INTEGER NOT NULL,
    doc     TEXT    NOT NULL,
    stop    TEXT    NOT NULL,
    ending  TEXT    NOT NULL,
    PRIMARY KEY (run, task, idx, n)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX flow_attempts_open ON flow_attempts (token) WHERE state <> 'ended';
CREATE INDEX flow_attempts_offered ON flow_attempts (token) WHERE node = '' AND state = 'intended';
CREATE INDEX flow_attempts_pool ON flow_attempts (pool) WHERE pool <> '' AND state <> 'ended';
CREATE INDEX flow_attempts_key ON flow_attempts (key) WHERE key <> x'' AND state <> 'ended';

-- Side effects that happen at most once for their key, and the attempt that has each.
CREATE TABLE flow_effects (
    key    BLOB    NOT NULL PRIMARY KEY,
    token  INTEGER NOT NULL,
    run    TEXT    NOT NULL,
    task   TEXT    NOT NULL,
    idx    INTEGER NOT NULL,
    done   INTEGER NOT NULL,
    output BLOB
) STRICT, WITHOUT ROWID;

CREATE TABLE flow_nodes (
    name   TEXT    NOT NULL PRIMARY KEY,
    epoch  INTEGER NOT NULL,
    labels TEXT    NOT NULL,
    slots  INTEGER NOT NULL,
    plans  INTEGER NOT NULL,
    seen   INTEGER NOT NULL,
    until  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE flow_orders (
    id  INTEGER PRIMARY KEY AUTOINCREMENT,
    run TEXT    NOT NULL,
    at  INTEGER NOT NULL,
    doc TEXT    NOT NULL
) STRICT;
