-- Wakes a relay that listens. A notification makes commits of the whole server
-- queue up for a moment: leave this out if many transactions write events at once.
CREATE OR REPLACE FUNCTION {schema}.wake() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_notify('{schema}', '');
	RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER wake AFTER INSERT ON {schema}.pending FOR EACH STATEMENT EXECUTE FUNCTION {schema}.wake();
