-- +goose Up

-- The floor of the count that made the row: a later count adds the difference to its own.
ALTER TABLE quota_counts ADD COLUMN floor INTEGER NOT NULL DEFAULT 0;
