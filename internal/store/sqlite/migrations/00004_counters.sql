-- +goose Up

-- What is counted of quotas. Rows of windows are named by the number of their
-- bucket; those of token buckets hold when they are full again.

CREATE TABLE quota_counts (
    quota  INTEGER NOT NULL,
    key    BLOB    NOT NULL,
    bucket INTEGER NOT NULL,
    n      INTEGER NOT NULL,
    until  INTEGER NOT NULL, -- may go after this
    PRIMARY KEY (quota, key, bucket)
) STRICT, WITHOUT ROWID;

CREATE INDEX quota_counts_by_time ON quota_counts (until);

-- The last batch of each node: one that comes again is not added again.
CREATE TABLE quota_nodes (
    node  BLOB    NOT NULL PRIMARY KEY,
    seq   INTEGER NOT NULL,
    until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
