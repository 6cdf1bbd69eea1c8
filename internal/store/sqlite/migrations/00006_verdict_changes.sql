-- +goose Up

-- What happened to verdicts, for the processes that share them.

CREATE TABLE verdict_revisions (
    fleet    TEXT    NOT NULL PRIMARY KEY,
    revision INTEGER NOT NULL
) STRICT;

ALTER TABLE verdicts ADD COLUMN revision INTEGER NOT NULL DEFAULT 1;

CREATE INDEX verdicts_by_revision ON verdicts (fleet, revision);

INSERT INTO verdict_revisions (fleet, revision) SELECT DISTINCT fleet, 1 FROM verdicts;

-- Those that are gone.
CREATE TABLE verdict_ends (
    fleet    TEXT    NOT NULL,
    revision INTEGER NOT NULL,
    id       TEXT    NOT NULL,
    PRIMARY KEY (fleet, revision)
) STRICT;
