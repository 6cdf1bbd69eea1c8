-- +goose Up

-- Overrides of query guards: for a class, and of one predictor's limit.

CREATE TABLE settings_overrides_next (
    id        TEXT    NOT NULL PRIMARY KEY,
    route     TEXT    NOT NULL,
    caller    TEXT    NOT NULL,
    plan      TEXT    NOT NULL,
    what      TEXT    NOT NULL,
    factor    REAL    NOT NULL,
    value     TEXT    NOT NULL,
    since     INTEGER NOT NULL,
    until     INTEGER NOT NULL,
    who       TEXT    NOT NULL,
    reason    TEXT    NOT NULL,
    class     TEXT    NOT NULL DEFAULT '',
    predictor TEXT    NOT NULL DEFAULT '',
    target    TEXT    NOT NULL DEFAULT '',
    UNIQUE (route, caller, plan, what, class, predictor, target)
) STRICT, WITHOUT ROWID;

INSERT INTO settings_overrides_next (id, route, caller, plan, what, factor, value, since, until, who, reason)
SELECT id, route, caller, plan, what, factor, value, since, until, who, reason FROM settings_overrides;

DROP TABLE settings_overrides;

ALTER TABLE settings_overrides_next RENAME TO settings_overrides;
