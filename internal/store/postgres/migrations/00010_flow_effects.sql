-- When the side effect was taken, so that it can be forgotten.

ALTER TABLE {schema}.flow_effects ADD COLUMN at bigint NOT NULL DEFAULT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;

CREATE INDEX flow_effects_at ON {schema}.flow_effects (at);
