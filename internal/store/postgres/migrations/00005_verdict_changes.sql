-- What happened to verdicts, for the processes that share them. The row of a
-- fleet in verdict_revisions is locked from a change to its commit, so that
-- revisions become visible in their order and none is missed.

CREATE TABLE {schema}.verdict_revisions (
    fleet    text COLLATE "C" NOT NULL PRIMARY KEY,
    revision bigint           NOT NULL
);

ALTER TABLE {schema}.verdicts ADD COLUMN revision bigint NOT NULL DEFAULT 1;

CREATE INDEX verdicts_by_revision ON {schema}.verdicts (fleet, revision);

INSERT INTO {schema}.verdict_revisions (fleet, revision) SELECT DISTINCT fleet, 1 FROM {schema}.verdicts;

-- Those that are gone.
CREATE TABLE {schema}.verdict_ends (
    fleet    text COLLATE "C" NOT NULL,
    revision bigint           NOT NULL,
    id       text COLLATE "C" NOT NULL,
    PRIMARY KEY (fleet, revision)
);
