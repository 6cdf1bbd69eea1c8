-- A run that is over is taken again while people have not been told of all its pages:
-- untold is true.

ALTER TABLE {schema}.flow_runs ADD COLUMN untold boolean NOT NULL DEFAULT false;

DROP INDEX {schema}.flow_runs_open;
CREATE INDEX flow_runs_open ON {schema}.flow_runs (id) WHERE state IN ('RUNNING', 'HELD') OR untold;
