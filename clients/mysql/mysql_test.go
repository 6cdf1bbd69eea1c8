package mysql

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/guard/cost"
	"github.com/bezoar-dev/bezoar/guard/sqlguard"
)

// database is one of its own for a test: through the guard, and around it.
type database struct {
	guarded *sql.DB // one connection, whose statements the server writes down
	plain   *sql.DB
	thread  int64
}

type classKey struct{}

func reader(ctx context.Context) context.Context { return context.WithValue(ctx, classKey{}, "reader") }

// open makes a database with five rows in t. Everything that the server gets over
// the guarded connection is in mysql.general_log.
func open(t *testing.T, dialect string, settings ...func(*mysql.Config)) database {
	t.Helper()
	config := parse(t)
	admin := connect(t, config)
	name := "guard_" + strings.ToLower(rand.Text())
	run(t, admin, "CREATE DATABASE "+name)
	t.Cleanup(func() { run(t, admin, "DROP DATABASE "+name) })
	run(t, admin, "SET GLOBAL log_output = 'TABLE'")
	run(t, admin, "TRUNCATE TABLE mysql.general_log")
	run(t, admin, "SET GLOBAL general_log = ON")
	t.Cleanup(func() { run(t, admin, "SET GLOBAL general_log = OFF") })

	config.DBName = name
	db := database{plain: connect(t, config)}
	run(t, db.plain, "CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(50))")
	run(t, db.plain, "INSERT INTO t (name) VALUES ('ant'), ('bee'), ('cat'), ('dog'), ('eel')")

	for _, set := range settings {
		set(config)
	}
	inner, err := mysql.NewConnector(config)
	if err != nil {
		t.Fatal(err)
	}
	g, err := guard.New(guard.Config{Limits: guard.Limits{
		Profile: guard.ProfileStrict,
		Rules:   []guard.Rule{{Predictor: cost.MissingLimit, Limit: 3, Action: guard.Cap, Class: "reader"}},
		Classes: []guard.Class{{Name: "reader"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	guarded, err := sqlguard.Connector(inner, sqlguard.Config{Guard: g, Dialect: dialect, Class: func(ctx context.Context) string {
		class, _ := ctx.Value(classKey{}).(string)
		return class
	}})
	if err != nil {
		t.Fatal(err)
	}
	db.guarded = sql.OpenDB(guarded)
	t.Cleanup(func() { db.guarded.Close() })
	db.guarded.SetMaxOpenConns(1)
	if err := db.guarded.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&db.thread); err != nil {
		t.Fatal(err)
	}
	return db
}

// parse reads BEZOAR_TEST_MARIADB. Where everything has to run, that it is not
// there is a failure.
func parse(t *testing.T) *mysql.Config {
	t.Helper()
	at := os.Getenv("BEZOAR_TEST_MARIADB")
	if at == "" {
		const text = "NOT RUN: no MariaDB: run make test, or export BEZOAR_TEST_MARIADB=$(../../scripts/mariadb start)"
		if os.Getenv("BEZOAR_REQUIRE_SERVERS") != "" {
			t.Fatal(text)
		}
		t.Skip(text)
	}
	config, err := mysql.ParseDSN(at)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

func connect(t *testing.T, config *mysql.Config) *sql.DB {
	t.Helper()
	c, err := mysql.NewConnector(config.Clone())
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(c)
	t.Cleanup(func() { db.Close() })
	return db
}

func run(t *testing.T, db *sql.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(context.WithoutCancel(t.Context()), query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// received are the statements that the server got over the guarded connection
// and that have a word in them.
func (db database) received(t *testing.T, word string) []string {
	t.Helper()
	return column(t, db.plain, "SELECT argument FROM mysql.general_log WHERE thread_id = ? AND INSTR(argument, ?) > 0 ORDER BY event_time", db.thread, word)
}

// column is the first column of what a query gives.
func column(t *testing.T, db *sql.DB, query string, args ...any) []string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query, args...)
	return scan(t, rows, err)
}

func scan(t *testing.T, rows *sql.Rows, err error) []string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var list []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		list = append(list, s)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// wantRejected wants an error that names a predictor.
func wantRejected(t *testing.T, query string, err error, predictor string) {
	t.Helper()
	r, ok := errors.AsType[*sqlguard.Rejected](err)
	if !ok {
		t.Errorf("%s: error is %v, want a rejection for %s", query, err, predictor)
		return
	}
	if f := r.Verdict.Findings; len(f) == 0 || f[0].Predictor != predictor {
		t.Errorf("%s: rejection is %v, want %s", query, err, predictor)
	}
}

// TestRejected: what is refused does not reach the server, and its connection
// goes on.
func TestRejected(t *testing.T) {
	db := open(t, "mariadb", func(c *mysql.Config) { c.MultiStatements = true })
	for _, c := range []struct{ query, predictor string }{
		{"DELETE FROM t /* refused */", "missing_where"},
		{"DELETE FROM t WHERE name = 'x' OR 'refused' = 'refused'", "missing_where"},
		{"DELETE FROM t # WHERE id = 1 refused", "missing_where"},
		{"DELETE FROM t /*!99999 WHERE id = 1 refused */", "missing_where"},
		{"/*!50000 DELETE */ FROM t /* refused */", "missing_where"},
		{"/*M! DELETE */ FROM t /* refused */", "missing_where"},
		{"SELECT 1; DELETE FROM t; SELECT 'refused'", "missing_where"},
		{"SELECT 'refused\\'; SELECT 2; -- '; DELETE FROM t", "missing_where"},
		{"SELECT \"refused';\\\"\"; DELETE FROM t", "missing_where"},
		{"BEGIN NOT ATOMIC DELETE FROM t; SELECT 'refused'; END", "missing_where"},
		{"EXECUTE IMMEDIATE 'DELETE FROM t /* refused */'", "missing_where"},
		{"PREPARE refused FROM 'DELETE FROM t'", "missing_where"},
		{"ANALYZE DELETE FROM t /* refused */", "missing_where"},
		{"SELECT 'refused' FROM t a JOIN t b ON 1=1", "cross_join"},
		{"SELECT SLEEP/**/(1) AS refused", "denied_function"},
		{"SELECT COUNT(*) AS refused FROM seq_1_to_1000000000", "generated"},
		{"SELECT name AS refused FROM t WHERE name LIKE 0x2561", "leading_wildcard"},
	} {
		_, err := db.guarded.ExecContext(t.Context(), c.query)
		wantRejected(t, c.query, err, c.predictor)
		rows, err := db.guarded.QueryContext(t.Context(), c.query)
		if err == nil {
			rows.Close()
		}
		wantRejected(t, c.query, err, c.predictor)
	}
	if got := db.received(t, "refused"); len(got) != 0 {
		t.Errorf("the server got %q", got)
	}
	run(t, db.guarded, "UPDATE t SET name = 'emu' WHERE id = 5 /* accepted */")
	if got := db.received(t, "accepted"); !slices.Equal(got, []string{"UPDATE t SET name = 'emu' WHERE id = 5 /* accepted */"}) {
		t.Errorf("the server got %q", got)
	}
	if got := column(t, db.plain, "SELECT name FROM t ORDER BY id"); !slices.Equal(got, []string{"ant", "bee", "cat", "dog", "emu"}) {
		t.Errorf("rows are %q", got)
	}
}

// TestThatTheyRun: what goes around other guards does run on the server, and
// what only plans does not.
func TestThatTheyRun(t *testing.T) {
	db := open(t, "mariadb")
	for _, c := range []struct {
		query string
		left  int
	}{
		{"EXPLAIN DELETE FROM t", 5},
		{"DELETE FROM t WHERE 1 = 0", 5},
		{"DELETE FROM t /*!99999 WHERE id = 1 */", 0},
		{"/*!50000 DELETE */ FROM t", 0},
		{"/*M! DELETE */ FROM t", 0},
		{"BEGIN NOT ATOMIC DELETE FROM t; END", 0},
		{"IF 1 THEN DELETE FROM t; END IF", 0},
		{"FOR i IN 1..2 DO DELETE FROM t; END FOR", 0},
		{"EXECUTE IMMEDIATE 'DELETE FROM t'", 0},
		{"ANALYZE DELETE FROM t", 0},
	} {
		run(t, db.plain, "REPLACE INTO t VALUES (1, 'ant'), (2, 'bee'), (3, 'cat'), (4, 'dog'), (5, 'eel')")
		rows, err := db.plain.QueryContext(t.Context(), c.query)
		if err != nil {
			t.Fatalf("%s: %v", c.query, err)
		}
		rows.Close()
		if got := column(t, db.plain, "SELECT name FROM t"); len(got) != c.left {
			t.Errorf("%s leaves %d rows, want %d", c.query, len(got), c.left)
		}
	}
}

// TestCapped: a lower LIMIT is what the server gets.
func TestCapped(t *testing.T) {
	db := open(t, "mysql")
	ctx := reader(t.Context())
	for query, want := range map[string]string{
		"SELECT name FROM t ORDER BY id -- one":                 "SELECT name FROM t ORDER BY id LIMIT 3 -- one",
		"SELECT name FROM t ORDER BY id LIMIT 100 # two":        "SELECT name FROM t ORDER BY id LIMIT 3 # two",
		"SELECT name FROM t ORDER BY id LIMIT 0, 4 /*three*/":   "SELECT name FROM t ORDER BY id LIMIT 0, 3 /*three*/",
		"SELECT name FROM t ORDER BY id FOR UPDATE /* four */":  "SELECT name FROM t ORDER BY id LIMIT 3 FOR UPDATE /* four */",
		"(SELECT name FROM t) UNION (SELECT 'five') ORDER BY 1": "(SELECT name FROM t) UNION (SELECT 'five') ORDER BY 1 LIMIT 3",
	} {
		rows, err := db.guarded.QueryContext(ctx, query)
		if got := scan(t, rows, err); !slices.Equal(got, []string{"ant", "bee", "cat"}) {
			t.Errorf("%s gives %q", query, got)
		}
		if got := db.received(t, want); len(got) != 1 {
			t.Errorf("the server got %q, want %s", got, want)
		}
	}
}

// TestPrepared: bound values are judged each time, on the wire and where the
// driver writes them into the text.
func TestPrepared(t *testing.T) {
	for _, interpolate := range []bool{false, true} {
		db := open(t, "mysql", func(c *mysql.Config) { c.InterpolateParams = interpolate })
		ctx := t.Context()
		const query = "SELECT name FROM t WHERE name LIKE ? ORDER BY id"
		rows, err := db.guarded.QueryContext(ctx, query, "b%")
		if got := scan(t, rows, err); !slices.Equal(got, []string{"bee"}) {
			t.Errorf("rows are %q", got)
		}
		wantRejected(t, query, db.guarded.QueryRowContext(ctx, query, "%refused").Scan(new(string)), "leading_wildcard")
		wantRejected(t, query, db.guarded.QueryRowContext(ctx, "SELECT name FROM t WHERE id > ? LIMIT ?, 5", 1, 1_000_000).Scan(new(string)), "offset")

		s, err := db.guarded.PrepareContext(ctx, query)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		rows, err = s.QueryContext(ctx, []byte("c%"))
		if got := scan(t, rows, err); !slices.Equal(got, []string{"cat"}) {
			t.Errorf("rows are %q", got)
		}
		wantRejected(t, query, s.QueryRowContext(ctx, "%refused").Scan(new(string)), "leading_wildcard")
		_, err = db.guarded.PrepareContext(ctx, "UPDATE t SET name = ? /* refused */") //nolint:sqlclosecheck // there is none
		wantRejected(t, "UPDATE", err, "missing_where")

		bound, err := db.guarded.PrepareContext(reader(ctx), "SELECT name FROM t ORDER BY id LIMIT ?")
		if err != nil {
			t.Fatal(err)
		}
		defer bound.Close()
		rows, err = bound.QueryContext(reader(ctx), 2)
		if got := scan(t, rows, err); !slices.Equal(got, []string{"ant", "bee"}) {
			t.Errorf("rows are %q", got)
		}
		wantRejected(t, "LIMIT ?", bound.QueryRowContext(reader(ctx), 100).Scan(new(string)), "missing_limit")
		for _, word := range []string{"refused", "1000000", "LIMIT 100"} {
			if got := db.received(t, word); len(got) != 0 {
				t.Errorf("the server got %q", got)
			}
		}
	}
}

// TestTransaction: a refusal sends nothing, so the transaction stays as it was.
func TestTransaction(t *testing.T) {
	db := open(t, "mysql")
	tx, err := db.guarded.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), "INSERT INTO t (name) VALUES ('fox')"); err != nil {
		t.Fatal(err)
	}
	_, err = tx.ExecContext(t.Context(), "UPDATE t SET name = 'x'")
	wantRejected(t, "UPDATE", err, "missing_where")
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if got := column(t, db.plain, "SELECT name FROM t ORDER BY id"); len(got) != 6 || got[5] != "fox" {
		t.Errorf("rows are %q", got)
	}
}
