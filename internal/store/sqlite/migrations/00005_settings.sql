-- +goose Up

-- Settings: the versions of their text, what overrides them for a time, and a
-- number that grows with every change of either.

CREATE TABLE settings_state (
    id       INTEGER PRIMARY KEY CHECK (id = 1),
    revision INTEGER NOT NULL
) STRICT;

INSERT INTO settings_state (id, revision) VALUES (1, 0);

CREATE TABLE settings_versions (
    number INTEGER PRIMARY KEY,
    at     INTEGER NOT NULL,
    who    TEXT    NOT NULL,
    source TEXT    NOT NULL,
    note   TEXT    NOT NULL,
    sum    TEXT    NOT NULL,
    body   BLOB    NOT NULL
) STRICT;

CREATE TABLE settings_overrides (
    id     TEXT    NOT NULL PRIMARY KEY,
    route  TEXT    NOT NULL,
    caller TEXT    NOT NULL,
    plan   TEXT    NOT NULL,
    what   TEXT    NOT NULL,
    factor REAL    NOT NULL,
    value  TEXT    NOT NULL,
    since  INTEGER NOT NULL,
    until  INTEGER NOT NULL,
    who    TEXT    NOT NULL,
    reason TEXT    NOT NULL,
    UNIQUE (route, caller, plan, what)
) STRICT, WITHOUT ROWID;
