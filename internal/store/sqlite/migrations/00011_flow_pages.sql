-- +goose Up

-- A run that is over is taken again while people have not been told of all its pages:
-- untold is 1.
ALTER TABLE flow_runs ADD COLUMN untold INTEGER NOT NULL DEFAULT 0;

DROP INDEX flow_runs_open;
CREATE INDEX flow_runs_open ON flow_runs (id) WHERE state IN ('RUNNING', 'HELD') OR untold = 1;
