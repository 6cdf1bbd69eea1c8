-- Times are microseconds since 1970, UTC. The documents hold the whole record
-- under the names of the API; the columns are what queries need of it. Names
-- sort by their bytes, as in every store.

CREATE TABLE {schema}.verdicts (
    id    text COLLATE "C" NOT NULL PRIMARY KEY,
    fleet text COLLATE "C" NOT NULL,
    since bigint           NOT NULL,
    doc   jsonb            NOT NULL
);

CREATE INDEX verdicts_by_fleet ON {schema}.verdicts (fleet, since, id);

CREATE TABLE {schema}.letters (
    id          text COLLATE "C" NOT NULL PRIMARY KEY,
    fleet       text COLLATE "C" NOT NULL,
    fingerprint bytea            NOT NULL,
    last        bigint           NOT NULL,
    copies      bigint           NOT NULL,
    kept        jsonb            NOT NULL, -- what stays when a copy arrives
    found       jsonb            NOT NULL, -- what a copy replaces
    body        bytea            NOT NULL,
    UNIQUE (fleet, fingerprint)
);

CREATE INDEX letters_by_last ON {schema}.letters (last DESC, id);
CREATE INDEX letters_by_fleet ON {schema}.letters (fleet, last DESC, id);
