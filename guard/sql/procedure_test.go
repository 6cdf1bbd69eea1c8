package sql_test

import (
	"testing"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// TestProcedures: code that runs at once is read as statements, whatever is
// around them.
func TestProcedures(t *testing.T) {
	run(t, cost.Options{Explain: true}, []check{
		{text: "DO $$ BEGIN DELETE FROM t; END $$", dialect: "pg", want: "missing_where"},
		{text: "DO LANGUAGE plpgsql 'BEGIN DELETE FROM t WHERE ''a'' = ''a''; END'", dialect: "pg", want: "missing_where"},
		{text: "DO $$ BEGIN IF x THEN NULL; ELSIF y THEN UPDATE t SET a = 1; ELSE DELETE FROM t WHERE id = 3; END IF; END $$", dialect: "pg", want: "missing_where"},
		{text: "DO $$ BEGIN CASE x WHEN 1 THEN NULL; ELSE DELETE FROM t; END CASE; END $$", dialect: "pg", want: "missing_where"},
		{text: "DO $$ BEGIN WHILE true LOOP UPDATE t SET a = 1; END LOOP; END $$", dialect: "pg", want: "missing_where"},
		{text: "DO $$ BEGIN NULL; EXCEPTION WHEN others THEN DELETE FROM t; END $$", dialect: "pg", want: "missing_where"},
		{text: "DO $$ BEGIN EXECUTE 'DELETE FROM t WHERE a = ''x'' OR true'; END $$", dialect: "pg", want: "missing_where"},
		{text: "DO $$ BEGIN FOR r IN SELECT * FROM a, b LOOP NULL; END LOOP; END $$", dialect: "pg", want: "cross_join"},
		{text: "DO $$ BEGIN IF EXISTS (SELECT 1 FROM a, b) THEN NULL; END IF; END $$", dialect: "pg", want: "cross_join"},
		{text: "DO $$ BEGIN n := (SELECT count(*) FROM a, b); END $$", dialect: "pg", want: "cross_join"},
		{text: "DO $$ BEGIN PERFORM * FROM a, b; END $$", dialect: "pg", want: "cross_join"},
		{text: "DO $$ DECLARE c CURSOR FOR SELECT * FROM a, b; BEGIN OPEN c; END $$", dialect: "pg", want: "cross_join"},
		{text: "DO $$ BEGIN RETURN QUERY SELECT * FROM a, b; END $$", dialect: "pg", want: "cross_join"},
		{text: "DO $$ BEGIN FOR i IN REVERSE 1000000000..1 BY 2 LOOP NULL; END LOOP; END $$", dialect: "pg", want: "generated"},
		{text: "DO $$ BEGIN PERFORM pg_sleep(10); END $$", dialect: "pg", want: "denied_function"},
		{text: "DO $$ plpy.execute('select pg_sleep(10)') $$ LANGUAGE plpython3u", dialect: "pg", want: "denied_function"},
		{text: "BEGIN NOT ATOMIC DECLARE x INT DEFAULT 1; DELETE FROM t; END", dialect: "mariadb", want: "missing_where multi_statement"},
		{text: "IF 1 THEN DELETE FROM t; END IF", dialect: "mariadb", want: "missing_where multi_statement"},
		{text: "CASE 1 WHEN 1 THEN DELETE FROM t; END CASE", dialect: "mariadb", want: "missing_where"},
		{text: "FOR r IN (SELECT * FROM a, b) DO SELECT 1; END FOR", dialect: "mariadb", want: "cross_join multi_statement"},
		{text: "EXECUTE IMMEDIATE 'DELETE FROM t'", dialect: "mariadb", want: "missing_where"},
		{text: "PREPARE s FROM 'SELECT * FROM a, b'", dialect: "mysql", want: "cross_join"},
		{text: "IF @x = 1 DELETE FROM t", dialect: "sqlserver", want: "missing_where"},
		{text: "IF EXISTS (SELECT 1 FROM t WHERE id = 4) BEGIN DELETE FROM t END", dialect: "sqlserver", want: "missing_where"},
		{text: "EXEC sp_executesql N'DELETE FROM t'", dialect: "sqlserver", want: "missing_where"},
		{text: "EXEC ('DELETE FROM t')", dialect: "sqlserver", want: "missing_where"},

		// What is made when it runs, or written too deep, is said to be unseen.
		{text: "PREPARE s FROM @x", dialect: "mysql", want: "unparsable"},
		{text: "PREPARE s FROM 'SELECT \\'a\\''", dialect: "mysql", want: "unparsable"},
		{text: "DO $$ BEGIN EXECUTE format('DROP TABLE %I', x); END $$", dialect: "pg", want: "unparsable"},
		{text: "DO $$ BEGIN EXECUTE 'DO $x$ BEGIN EXECUTE ''DELETE FROM t''; END $x$'; END $$", dialect: "pg", want: "unparsable"},
		{text: "DO $$ BEGIN SELECT (1; END $$", dialect: "pg", want: "unparsable"},
		{text: "DO $$ BEGIN DELETE FROM a; DELETE FROM t WHERE 'x; END $$", dialect: "pg", want: "missing_where unparsable"},
	})
}

// TestOrdinaryProcedures: what migrations are made of passes.
func TestOrdinaryProcedures(t *testing.T) {
	run(t, cost.Options{Explain: true}, []check{
		{text: "DO $$ BEGIN IF NOT EXISTS (SELECT 1 FROM pg_type WHERE typname = 'mood') THEN CREATE TYPE mood AS ENUM ('sad', 'ok'); END IF; END $$", dialect: "pg"},
		{text: "DO $$ BEGIN CREATE ROLE app; EXCEPTION WHEN duplicate_object THEN RAISE NOTICE 'there is one'; END $$", dialect: "pg"},
		{text: "DO $$ BEGIN ALTER TABLE t ADD CONSTRAINT c CHECK (a > 0); EXCEPTION WHEN duplicate_object THEN NULL; END $$", dialect: "pg"},
		{text: "DO $$ DECLARE n int := 0; BEGIN SELECT count(*) INTO n FROM t WHERE id = 3; IF n > 0 THEN RAISE EXCEPTION 'no'; END IF; END $$", dialect: "pg"},
		{text: "DO $do$ BEGIN LOOP WITH d AS (SELECT id FROM t WHERE a < 5 LIMIT 1000) DELETE FROM t USING d WHERE t.id = d.id; " +
			"EXIT WHEN NOT FOUND; COMMIT; END LOOP; END $do$", dialect: "pg"},
		{text: "DO $$ BEGIN FOR i IN 1..1000 LOOP INSERT INTO t VALUES (i); END LOOP; END $$", dialect: "pg"},
		{text: "DO $$ BEGIN EXECUTE 'CREATE INDEX i ON t (a)'; END $$", dialect: "pg"},
		{text: "EXECUTE p(1, 'x')", dialect: "pg"},
		{text: "EXECUTE s USING @a", dialect: "mysql"},
		{text: "EXECUTE IMMEDIATE 'SELECT * FROM t WHERE a = ? AND id = 4' USING 5", dialect: "mariadb"},
		{text: "EXEC dbo.refresh @x = 5", dialect: "sqlserver"},
		{text: "BEGIN ISOLATION LEVEL SERIALIZABLE", dialect: "pg"},
		{text: "BEGIN TRAN", dialect: "sqlserver"},
		{text: "END", dialect: "pg"},
	})
}

// TestPlanned: what is only planned, and what makes no row, costs no more than
// its plan.
func TestPlanned(t *testing.T) {
	run(t, cost.Options{Explain: true}, []check{
		{text: "EXPLAIN SELECT * FROM a, b", dialect: "pg"},
		{text: "EXPLAIN (COSTS off, ANALYZE false) DELETE FROM t", dialect: "pg"},
		{text: "EXPLAIN (ANALYZE, ANALYZE off) DELETE FROM t", dialect: "pg"},
		{text: "EXPLAIN FORMAT=JSON UPDATE t SET a = 1 WHERE name LIKE '%x'", dialect: "mysql"},
		{text: "DESC SELECT * FROM a, b", dialect: "mysql"},
		{text: "EXPLAIN t", dialect: "mysql"},
		{text: "ANALYZE TABLE t", dialect: "mysql"},
		{text: "ANALYZE VERBOSE t (a, b)", dialect: "pg"},
		{text: "SELECT * FROM (SELECT * FROM a, b WHERE a.x LIKE '%x') q LIMIT 0"},
		{text: "SELECT * FROM a, b WHERE 1 = 0"},
		{text: "SELECT * FROM a FULL JOIN b ON false"},
		{text: "DELETE FROM t WHERE name LIKE '%x' AND false"},

		{text: "EXPLAIN (COSTS off, ANALYZE 'on') DELETE FROM t", dialect: "pg", want: "missing_where"},
		{text: "EXPLAIN (ANALYZE) (SELECT * FROM a, b)", dialect: "pg", want: "cross_join"},
		{text: "EXPLAIN ANALYSE VERBOSE DELETE FROM t", dialect: "pg", want: "missing_where"},
		{text: "ANALYZE DELETE FROM t", dialect: "mariadb", want: "missing_where"},
		{text: "ANALYZE FORMAT=JSON SELECT * FROM a, b", dialect: "mariadb", want: "cross_join"},
		{text: "EXPLAIN SELECT * FROM t WHERE id IN (" + list(1001) + ")", want: "in_list"},
		{text: "EXPLAIN SELECT sleep(5)", dialect: "mysql", want: "denied_function"}, // some servers run queries in FROM to plan
		{text: "SELECT sleep(5) LIMIT 0", dialect: "mysql", want: "denied_function"},
		{text: "SELECT * FROM a, b WHERE 1 = 0 OR a.x = 5", want: "cross_join"},
		{text: "DELETE FROM t WHERE NOT (1 = 0)", want: "missing_where"},
	})
}

// TestJoinedByQueries: a query in a condition joins the tables that it names, if
// the condition leaves few pairs.
func TestJoinedByQueries(t *testing.T) {
	run(t, cost.Options{Explain: true}, []check{
		{text: "SELECT * FROM a, b WHERE EXISTS (SELECT 1 FROM c WHERE c.a_id = a.id AND c.b_id = b.id)"},
		{text: "SELECT * FROM a LEFT JOIN b ON b.id IN (SELECT b_id FROM c WHERE c.a_id = a.id)"},
		{text: "SELECT * FROM a JOIN b ON b.at = (SELECT max(x.at) FROM b x WHERE x.a_id = a.id)"},
		{text: "SELECT * FROM a, b WHERE (SELECT count(*) FROM c WHERE c.a_id = a.id AND EXISTS (SELECT 1 FROM d WHERE d.b_id = b.id)) > 0"},
		{text: "SELECT d.datname, r.rolname FROM pg_database d, pg_roles r", dialect: "pg"},

		{text: "SELECT * FROM a, b WHERE EXISTS (SELECT 1 FROM c WHERE c.a_id = a.id) AND EXISTS (SELECT 1 FROM c WHERE c.b_id = b.id)", want: "cross_join"},
		{text: "SELECT * FROM a, b WHERE NOT EXISTS (SELECT 1 FROM c WHERE c.a_id = a.id AND c.b_id = b.id)", want: "cross_join"},
		{text: "SELECT * FROM a, b WHERE a.x = 4 OR EXISTS (SELECT 1 FROM c WHERE c.a_id = a.id AND c.b_id = b.id)", want: "cross_join"},
		{text: "SELECT * FROM a, b WHERE b.id NOT IN (SELECT b_id FROM c WHERE c.a_id = a.id)", want: "cross_join"},
		{text: "SELECT * FROM a JOIN b ON a.kind = 'x'", want: "cross_join"},
		{text: "SELECT * FROM a JOIN b ON a.id = a.id WHERE a.x = 5", want: "cross_join"},
		{text: "SELECT * FROM a JOIN b ON true WHERE x = 5", want: "cross_join"},
		{text: "SELECT count(*) FROM information_schema.columns a, information_schema.columns b", want: "cross_join"},
		{text: "SELECT u.id, generate_series(1, 100000) FROM users u", dialect: "pg", want: "cross_join"},
		{text: "SELECT generate_series(1, 10000) FROM generate_series(1, 10000)", dialect: "pg", want: "generated"},
		{text: "SELECT count(*) FROM seq_1_to_1000000000", dialect: "mariadb", want: "generated"},
		{text: "SELECT count(*) FROM `seq_1000000_to_1` a, seq_1_to_1000000_step_10 b", dialect: "mariadb", want: "cross_join generated"},
		{text: "SELECT s.seq FROM seq_1_to_100 s, t WHERE t.x = 4", dialect: "mariadb"},
	})
}

// TestPlacesInTexts: a finding in a text points into the whole.
func TestPlacesInTexts(t *testing.T) {
	for _, c := range []struct {
		text string
		at   int
	}{
		{"SELECT 1; DO $x$ BEGIN DELETE FROM t; END $x$", 23},
		{"DO 'BEGIN DELETE FROM t WHERE ''a'' = ''a''; END'", 3},
	} {
		at := -1
		for _, m := range read(t, cost.Query{Body: []byte(c.text), Dialect: "pg"}, cost.Options{}) {
			if m.Predictor == cost.MissingWhere {
				at = m.Offset
			}
		}
		if at != c.at {
			t.Errorf("%s: at %d, want %d", c.text, at, c.at)
		}
	}
}
