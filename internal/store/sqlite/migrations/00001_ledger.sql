-- +goose Up

-- Times are microseconds since 1970, UTC. The documents hold the whole record
-- as JSON under the names of the API; the columns are what queries need of it.

CREATE TABLE verdicts (
    id    TEXT    NOT NULL PRIMARY KEY,
    fleet TEXT    NOT NULL,
    since INTEGER NOT NULL,
    doc   TEXT    NOT NULL
) STRICT;

CREATE INDEX verdicts_by_fleet ON verdicts (fleet, since, id);

CREATE TABLE letters (
    id          TEXT    NOT NULL PRIMARY KEY,
    fleet       TEXT    NOT NULL,
    fingerprint BLOB    NOT NULL,
    last        INTEGER NOT NULL,
    copies      INTEGER NOT NULL,
    kept        TEXT    NOT NULL, -- what stays when a copy arrives
    found       TEXT    NOT NULL, -- what a copy replaces
    body        BLOB    NOT NULL,
    UNIQUE (fleet, fingerprint)
) STRICT;

CREATE INDEX letters_by_last ON letters (last DESC, id);
CREATE INDEX letters_by_fleet ON letters (fleet, last DESC, id);
