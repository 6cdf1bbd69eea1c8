-- Times are microseconds since 1970, UTC, of this server's clock. Numbers of
-- messages come from a sequence that caches nothing: in a FIFO group they are
-- in the order of sending.

CREATE SEQUENCE {schema}.queue_sequence CACHE 1;
CREATE SEQUENCE {schema}.queue_bucket CACHE 1;

CREATE TABLE {schema}.queues (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name        text COLLATE "C" NOT NULL UNIQUE,
    bucket      bigint NOT NULL UNIQUE DEFAULT nextval('{schema}.queue_bucket'), -- of its content: a purge begins a new one
    fifo        boolean NOT NULL,
    version     bigint NOT NULL DEFAULT 1,
    created     bigint NOT NULL,
    modified    bigint NOT NULL,
    dead_letter text COLLATE "C" NOT NULL, -- a queue's name, or ''
    doc         text NOT NULL              -- settings and tags, JSON
);

CREATE INDEX queues_by_dead_letter ON {schema}.queues (dead_letter, name) WHERE dead_letter <> '';

-- What does not change when a message is received.
CREATE TABLE {schema}.queue_payloads (
    payload    bigint NOT NULL PRIMARY KEY, -- the first number of its message
    id         text COLLATE "C" NOT NULL,
    sent       bigint NOT NULL,
    label      text COLLATE "C" NOT NULL,   -- the group, in a standard queue too
    dedup      text COLLATE "C" NOT NULL,
    sender     text COLLATE "C" NOT NULL,
    attributes text,                        -- JSON
    lineage    text,                        -- JSON
    body       bytea NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000,
    autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0.1);

-- What does. The room on each page lets a new version stay on it, and vacuum
-- comes early: nearly every row is written three times and then gone.
CREATE TABLE {schema}.queue_messages (
    bucket   bigint   NOT NULL,
    seq      bigint   NOT NULL,
    payload  bigint   NOT NULL,
    since    bigint   NOT NULL,           -- what retention counts from
    visible  bigint   NOT NULL,           -- when the hold or the delay ends
    due      bigint   NOT NULL DEFAULT 0, -- when to set it aside; 0: not
    gen      bigint   NOT NULL DEFAULT 0, -- of the last delivery
    received bigint   NOT NULL DEFAULT 0,
    first    bigint   NOT NULL DEFAULT 0,
    lane     bigint   NOT NULL DEFAULT 0, -- in flight: 0 if no copy may be, else seq
    task     bigint,                      -- the move task that sent it, unless it died since
    receives integer  NOT NULL DEFAULT 0,
    holding  integer  NOT NULL DEFAULT 0, -- what its worker held when it vanished
    rank     smallint NOT NULL,           -- 9 - priority
    hold     smallint NOT NULL DEFAULT 0, -- 0 none, 1 leased, 2 held for its group
    letter   boolean  NOT NULL DEFAULT false,
    fp       bytea,                       -- fingerprint of the body
    grp      text COLLATE "C",            -- of a FIFO queue's
    worker   text     NOT NULL DEFAULT '',
    history  text,                        -- attempts that did not end well, JSON
    PRIMARY KEY (bucket, seq)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0.05, autovacuum_analyze_threshold = 1000);

-- What may be received: of each rank, in the order of becoming visible. The
-- hold is there to be counted.
CREATE INDEX queue_messages_ready ON {schema}.queue_messages (bucket, rank, visible, seq, hold) WHERE due = 0;
CREATE INDEX queue_messages_due ON {schema}.queue_messages (due, bucket, visible, hold) WHERE due > 0;
-- Of a FIFO group: its order, and when it is locked and has something.
CREATE INDEX queue_messages_group ON {schema}.queue_messages (bucket, grp, seq) WHERE grp IS NOT NULL;
CREATE INDEX queue_messages_held ON {schema}.queue_messages (bucket, grp, hold, visible, due) WHERE grp IS NOT NULL;
-- Copies in flight. It is unique so that of two receives at once only one gets
-- the first copy of an unproven payload.
CREATE UNIQUE INDEX queue_messages_flying ON {schema}.queue_messages (bucket, fp, lane)
    WHERE hold = 1 AND fp IS NOT NULL AND NOT letter;
CREATE INDEX queue_messages_vanished ON {schema}.queue_messages (bucket, fp) WHERE hold = 1 AND holding > 0;
CREATE INDEX queue_messages_task ON {schema}.queue_messages (bucket, task) WHERE task IS NOT NULL;

-- How many messages a bucket holds: the sum of its rows, one for each of some
-- connections, so that they do not wait for each other.
CREATE TABLE {schema}.queue_tallies (
    bucket bigint   NOT NULL,
    slot   smallint NOT NULL,
    n      bigint   NOT NULL,
    PRIMARY KEY (bucket, slot)
) WITH (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 0);

-- The FIFO groups that hold messages, and when each has one to receive.
CREATE TABLE {schema}.queue_groups (
    bucket bigint           NOT NULL,
    grp    text COLLATE "C" NOT NULL,
    ready  bigint           NOT NULL,
    PRIMARY KEY (bucket, grp)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 0);

CREATE INDEX queue_groups_by_ready ON {schema}.queue_groups (bucket, ready, grp);

CREATE TABLE {schema}.queue_dedups (
    queue bigint           NOT NULL,
    key   bytea            NOT NULL,
    sent  bigint           NOT NULL,
    id    text COLLATE "C" NOT NULL,
    seq   bigint           NOT NULL,
    PRIMARY KEY (queue, key)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

CREATE INDEX queue_dedups_by_time ON {schema}.queue_dedups (sent);

-- Buckets that are no queue's any more.
CREATE TABLE {schema}.queue_leftovers (
    bucket bigint NOT NULL PRIMARY KEY,
    since  bigint NOT NULL
);

-- Dead letters: what they are counted and chosen by, and apart from it the
-- letters themselves, so that counting 100,000 reads little.
CREATE TABLE {schema}.queue_deaths (
    bucket   bigint           NOT NULL,
    seq      bigint           NOT NULL,
    died     bigint           NOT NULL,
    redriven boolean          NOT NULL, -- it had been sent again before
    class    text COLLATE "C" NOT NULL,
    origin   text COLLATE "C" NOT NULL,
    grp      text COLLATE "C" NOT NULL,
    id       text COLLATE "C" NOT NULL,
    PRIMARY KEY (bucket, seq)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

CREATE INDEX queue_deaths_by_seq ON {schema}.queue_deaths (seq);
CREATE INDEX queue_deaths_by_id ON {schema}.queue_deaths (id);
CREATE INDEX queue_deaths_by_group ON {schema}.queue_deaths (bucket, grp, died, seq);

CREATE TABLE {schema}.queue_letters (
    bucket bigint NOT NULL,
    seq    bigint NOT NULL,
    died   bigint NOT NULL,
    doc    text   NOT NULL, -- JSON
    PRIMARY KEY (bucket, seq)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

-- What is known of payloads.
CREATE TABLE {schema}.queue_cases (
    queue   bigint           NOT NULL,
    fp      bytea            NOT NULL,
    state   smallint         NOT NULL, -- 0 watched, 1 suspect, 2 quarantined
    proven  boolean          NOT NULL,
    strikes integer          NOT NULL,
    level   integer          NOT NULL,
    since   bigint           NOT NULL,
    touched bigint           NOT NULL,
    until   bigint           NOT NULL,
    same    integer          NOT NULL,
    class   text COLLATE "C" NOT NULL,
    failure text COLLATE "C" NOT NULL,
    reason  text COLLATE "C" NOT NULL,
    PRIMARY KEY (queue, fp)
) WITH (fillfactor = 80);

CREATE INDEX queue_cases_by_age ON {schema}.queue_cases (queue, touched);
CREATE INDEX queue_cases_kept ON {schema}.queue_cases (greatest(touched, until));

CREATE TABLE {schema}.queue_moves (
    number    bigint           GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- in the order of their start
    id        text COLLATE "C" NOT NULL UNIQUE,
    kind      text COLLATE "C" NOT NULL,
    source    text COLLATE "C" NOT NULL,
    destination text COLLATE "C" NOT NULL,
    rate      integer          NOT NULL,
    state     text COLLATE "C" NOT NULL,
    failure   text             NOT NULL,
    doc       text             NOT NULL, -- what never changes, JSON
    started   bigint           NOT NULL,
    ended     bigint           NOT NULL, -- 0: it is not over
    moved     bigint           NOT NULL,
    to_move   bigint           NOT NULL,
    done      bigint           NOT NULL,
    dead      bigint           NOT NULL,
    forgiven  bigint           NOT NULL,
    bucket    bigint           NOT NULL, -- of the source
    cursor    bigint           NOT NULL DEFAULT 0, -- moved or passed over up to here
    next      bigint           NOT NULL  -- when the rate allows the next step
);

CREATE UNIQUE INDEX queue_moves_running ON {schema}.queue_moves (source)
    WHERE kind = '' AND state IN ('running', 'paused', 'halted');
CREATE INDEX queue_moves_by_source ON {schema}.queue_moves (source, number DESC);
CREATE INDEX queue_moves_live ON {schema}.queue_moves (number) WHERE state IN ('running', 'paused', 'halted');

-- How messages ended that a task had sent, to be added up: a task's own row
-- would make all that end wait for each other.
CREATE TABLE {schema}.queue_endings (
    task bigint NOT NULL,
    done bigint NOT NULL,
    dead bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.1, autovacuum_vacuum_threshold = 500);

CREATE INDEX queue_endings_by_task ON {schema}.queue_endings (task);

CREATE SEQUENCE {schema}.queue_mark_version CACHE 1;

CREATE TABLE {schema}.queue_marks (
    key     text COLLATE "C" NOT NULL PRIMARY KEY,
    version bigint           NOT NULL,
    put     bigint           NOT NULL,
    until   bigint           NOT NULL,
    doc     bytea            NOT NULL
) WITH (fillfactor = 70);

CREATE INDEX queue_marks_by_end ON {schema}.queue_marks (until);

CREATE TABLE {schema}.queue_audit (
    number bigint           GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at     bigint           NOT NULL,
    actor  bytea            NOT NULL,
    action bytea            NOT NULL,
    object bytea            NOT NULL,
    detail bytea,
    error  bytea            NOT NULL
);
