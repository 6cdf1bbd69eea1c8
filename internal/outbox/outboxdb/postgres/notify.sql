-- Wakes a listening relay. A notification makes commits of the whole server wait for each
-- other for a moment: omit this if many transactions write events at once.
CREATE OR REPLACE FUNCTION {schema}.wake() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_notify('{schema}', '');
	RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER wake AFTER INSERT ON {schema}.pending FOR EACH STATEMENT EXECUTE FUNCTION {schema}.wake();
