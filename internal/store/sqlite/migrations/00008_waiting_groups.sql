-- +goose Up

-- A group that waits for a copy is ready when that one's lease is over, should
-- nobody end it before.

DROP INDEX queue_groups_by_ready;
CREATE INDEX queue_groups_by_ready ON queue_groups (bucket, ready, grp);
