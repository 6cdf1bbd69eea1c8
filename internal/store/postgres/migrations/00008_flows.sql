-- Flows: runs with their instances and attempts, the nodes that hold them, and
-- what people want of them. Times are microseconds since 1970; 0 is none.

CREATE SEQUENCE {schema}.flow_tokens;

-- Runs of one definition share it. sum is the SHA-256 of doc.
CREATE TABLE {schema}.flow_definitions (
    sum bytea NOT NULL PRIMARY KEY,
    doc text  NOT NULL
);

CREATE TABLE {schema}.flow_runs (
    id         text COLLATE "C" NOT NULL PRIMARY KEY,
    flow       text COLLATE "C" NOT NULL,
    definition bytea  NOT NULL REFERENCES {schema}.flow_definitions (sum),
    params     text   NOT NULL,
    state      text   NOT NULL CHECK (state IN ('RUNNING', 'HELD', 'SUCCESS', 'FAILED', 'CANCELLED')),
    why        text   NOT NULL,
    due        bigint NOT NULL,
    created    bigint NOT NULL,
    deadline   bigint NOT NULL,
    ended      bigint NOT NULL,
    key        text COLLATE "C" NOT NULL,
    backfill   text COLLATE "C" NOT NULL,
    owner      text COLLATE "C" NOT NULL,
    epoch      bigint NOT NULL,
    version    bigint NOT NULL,
    pages      text   NOT NULL
) WITH (fillfactor = 70);

CREATE UNIQUE INDEX flow_runs_key ON {schema}.flow_runs (key) WHERE key <> '';
CREATE INDEX flow_runs_flow ON {schema}.flow_runs (flow, id);
CREATE INDEX flow_runs_backfill ON {schema}.flow_runs (backfill, id) WHERE backfill <> '';
CREATE INDEX flow_runs_open ON {schema}.flow_runs (id) WHERE state IN ('RUNNING', 'HELD');
CREATE INDEX flow_runs_over ON {schema}.flow_runs (ended) WHERE state IN ('SUCCESS', 'FAILED', 'CANCELLED');

CREATE TABLE {schema}.flow_instances (
    run   text COLLATE "C" NOT NULL,
    task  text COLLATE "C" NOT NULL,
    idx   bigint NOT NULL,
    state text   NOT NULL CHECK (state IN ('PENDING', 'READY', 'RUNNING', 'SUCCESS', 'FAILED', 'UPSTREAM_FAILED', 'RETRYING',
        'SENSING', 'DEAD_LETTER', 'HELD', 'SKIPPED', 'CANCELLED', 'INTERRUPTED')),
    doc   text   NOT NULL,
    PRIMARY KEY (run, task, idx)
) WITH (fillfactor = 70);

CREATE TABLE {schema}.flow_attempts (
    run     text COLLATE "C" NOT NULL,
    task    text COLLATE "C" NOT NULL,
    idx     bigint NOT NULL,
    n       bigint NOT NULL,
    token   bigint NOT NULL,
    node    text COLLATE "C" NOT NULL,
    labels  jsonb  NOT NULL,
    pool    text COLLATE "C" NOT NULL,
    slots   bigint NOT NULL,
    key     bytea  NOT NULL,
    state   text   NOT NULL CHECK (state IN ('intended', 'running', 'lost', 'ended')),
    started bigint NOT NULL,
    ended   bigint NOT NULL,
    doc     text   NOT NULL,
    stop    text   NOT NULL,
    ending  text   NOT NULL,
    PRIMARY KEY (run, task, idx, n)
) WITH (fillfactor = 70);

CREATE UNIQUE INDEX flow_attempts_open ON {schema}.flow_attempts (token) WHERE state <> 'ended';
CREATE INDEX flow_attempts_offered ON {schema}.flow_attempts (token) WHERE node = '' AND state = 'intended';
CREATE INDEX flow_attempts_pool ON {schema}.flow_attempts (pool) WHERE pool <> '' AND state <> 'ended';
CREATE INDEX flow_attempts_key ON {schema}.flow_attempts (key) WHERE key <> '' AND state <> 'ended';

-- Side effects that happen at most once for their key, and the attempt that has each.
CREATE TABLE {schema}.flow_effects (
    key    bytea   NOT NULL PRIMARY KEY,
    token  bigint  NOT NULL,
    run    text    NOT NULL,
    task   text    NOT NULL,
    idx    bigint  NOT NULL,
    done   boolean NOT NULL,
    output bytea
);

CREATE TABLE {schema}.flow_nodes (
    name   text COLLATE "C" NOT NULL PRIMARY KEY,
    epoch  bigint  NOT NULL,
    labels text    NOT NULL,
    slots  bigint  NOT NULL,
    plans  boolean NOT NULL,
    seen   bigint  NOT NULL,
    until  bigint  NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE {schema}.flow_orders (
    id  bigint NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run text COLLATE "C" NOT NULL REFERENCES {schema}.flow_runs (id),
    at  bigint NOT NULL,
    doc text   NOT NULL
);
