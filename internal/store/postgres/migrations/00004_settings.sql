-- Settings: the versions of their text, what overrides them for a time, and a
-- number that grows with every change of either. Whoever changes anything
-- changes that number first, so that changes come one after the other.

CREATE TABLE {schema}.settings_state (
    id       smallint NOT NULL PRIMARY KEY CHECK (id = 1),
    revision bigint   NOT NULL
);

INSERT INTO {schema}.settings_state (id, revision) VALUES (1, 0);

CREATE TABLE {schema}.settings_versions (
    number bigint NOT NULL PRIMARY KEY,
    at     bigint NOT NULL,
    who    text   NOT NULL,
    source text   NOT NULL,
    note   text   NOT NULL,
    sum    text   NOT NULL,
    body   bytea  NOT NULL
);

CREATE TABLE {schema}.settings_overrides (
    id     text COLLATE "C" NOT NULL PRIMARY KEY,
    route  text COLLATE "C" NOT NULL,
    caller text COLLATE "C" NOT NULL,
    plan   text COLLATE "C" NOT NULL,
    what   text COLLATE "C" NOT NULL,
    factor double precision NOT NULL,
    value  text             NOT NULL,
    since  bigint           NOT NULL,
    until  bigint           NOT NULL,
    who    text             NOT NULL,
    reason text             NOT NULL,
    UNIQUE (route, caller, plan, what)
);

-- Which node runs what; a row is believed until its time.
CREATE TABLE {schema}.settings_nodes (
    name      text COLLATE "C" NOT NULL PRIMARY KEY,
    running   bigint  NOT NULL,
    sum       text    NOT NULL,
    wanted    bigint  NOT NULL,
    error     text    NOT NULL,
    overrides integer NOT NULL,
    since     bigint  NOT NULL,
    seen      bigint  NOT NULL,
    until     bigint  NOT NULL
) WITH (fillfactor = 50);
