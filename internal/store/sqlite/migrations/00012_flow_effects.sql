-- +goose Up

-- When the side effect was taken, so that it can be forgotten.
ALTER TABLE flow_effects ADD COLUMN at INTEGER NOT NULL DEFAULT 0;

UPDATE flow_effects SET at = CAST(unixepoch('subsec') * 1000000 AS INTEGER);

CREATE INDEX flow_effects_at ON flow_effects (at);
