-- Overrides of query guards: for a class, and of one predictor's limit. Nodes
-- that do not know them yet go on with the others.

ALTER TABLE {schema}.settings_overrides
    ADD COLUMN class     text COLLATE "C" NOT NULL DEFAULT '',
    ADD COLUMN predictor text COLLATE "C" NOT NULL DEFAULT '',
    ADD COLUMN target    text COLLATE "C" NOT NULL DEFAULT '',
    DROP CONSTRAINT settings_overrides_route_caller_plan_what_key,
    ADD UNIQUE (route, caller, plan, what, class, predictor, target);
