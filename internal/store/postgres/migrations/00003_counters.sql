-- What is counted of quotas. Rows of windows are named by the number of their
-- bucket; those of token buckets hold when they are full again. Counts are
-- written several times a second and are worth nothing a little later: they stay
-- out of the log, and a server that crashes, or a standby that takes over,
-- begins them anew.

CREATE UNLOGGED TABLE {schema}.quota_counts (
    quota  bigint NOT NULL,
    key    bytea  NOT NULL,
    bucket bigint NOT NULL,
    floor  bigint NOT NULL, -- of the count that made the row
    n      bigint NOT NULL,
    until  bigint NOT NULL, -- may go after this
    PRIMARY KEY (quota, key, bucket)
) WITH (fillfactor = 70);

CREATE INDEX quota_counts_by_time ON {schema}.quota_counts (until);

-- The last batch of each node: one that comes again is not added again.
CREATE UNLOGGED TABLE {schema}.quota_nodes (
    node  bytea  NOT NULL PRIMARY KEY,
    seq   bigint NOT NULL,
    until bigint NOT NULL
) WITH (fillfactor = 50);
