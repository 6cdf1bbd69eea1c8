package sqlguard_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"modernc.org/sqlite"

	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/guard/cost"
	"github.com/bezoar-dev/bezoar/guard/sqlguard"
)

// newGuard has the default limits, and gives rows in pages of three to those who
// ask for more.
func newGuard(t testing.TB) *guard.Guard {
	t.Helper()
	g, err := guard.New(guard.Config{Limits: guard.Limits{
		Profile: guard.ProfileStrict,
		Rules:   []guard.Rule{{Predictor: cost.MissingLimit, Limit: 3, Action: guard.Cap, Class: "reader"}},
		Classes: []guard.Class{{Name: "reader"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

type classKey struct{}

func reader(ctx context.Context) context.Context { return context.WithValue(ctx, classKey{}, "reader") }

func classOf(ctx context.Context) string {
	class, _ := ctx.Value(classKey{}).(string)
	return class
}

// connectTo opens one database by its driver's name for it.
type connectTo struct {
	driver driver.Driver
	name   string
}

func (c connectTo) Connect(context.Context) (driver.Conn, error) { return c.driver.Open(c.name) }
func (c connectTo) Driver() driver.Driver                        { return c.driver }

func openSQLite(t *testing.T, config sqlguard.Config) *sql.DB {
	t.Helper()
	c, err := sqlguard.Connector(connectTo{&sqlite.Driver{}, filepath.Join(t.TempDir(), "test.db")}, config)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(c)
	t.Cleanup(func() { db.Close() })
	run(t, db, "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT)")
	for _, name := range []string{"ant", "bee", "cat", "dog", "eel"} {
		run(t, db, "INSERT INTO t (name) VALUES (?)", name)
	}
	return db
}

type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

func run(t *testing.T, db execer, query string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// wantRejected wants an error that names a predictor.
func wantRejected(t *testing.T, err error, predictor string) {
	t.Helper()
	r, ok := errors.AsType[*sqlguard.Rejected](err)
	if !ok {
		t.Fatalf("error is %v, want a rejection for %s", err, predictor)
	}
	if len(r.Verdict.Findings) == 0 || r.Verdict.Findings[0].Predictor != predictor || !strings.Contains(err.Error(), predictor) {
		t.Fatalf("rejection is %v, want %s", err, predictor)
	}
}

func names(t *testing.T, rows *sql.Rows, err error) []string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var list []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		list = append(list, name)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

func TestSQLite(t *testing.T) {
	var seen []string
	db := openSQLite(t, sqlguard.Config{Guard: newGuard(t), Class: classOf, OnVerdict: func(_ context.Context, query string, v *guard.Verdict) {
		seen = append(seen, string(v.Verdict)+" "+query)
	}})
	ctx := t.Context()

	_, err := db.ExecContext(ctx, "DELETE FROM t")
	wantRejected(t, err, "missing_where")
	wantRejected(t, db.QueryRowContext(ctx, "SELECT name FROM t WHERE name LIKE ?", "%a%").Scan(new(string)), "leading_wildcard")
	wantRejected(t, db.QueryRowContext(ctx, "SELECT name FROM t LIMIT ? OFFSET ?", 5, 100_000).Scan(new(string)), "offset")

	run(t, db, "UPDATE t SET name = 'emu' WHERE id = 5")
	rows, err := db.QueryContext(ctx, "SELECT name FROM t WHERE name LIKE ?", "a%")
	if got := names(t, rows, err); !slices.Equal(got, []string{"ant"}) {
		t.Errorf("names %v", got)
	}
	rows, err = db.QueryContext(ctx, "SELECT name FROM t ORDER BY id -- all")
	if got := names(t, rows, err); len(got) != 5 || got[4] != "emu" {
		t.Errorf("names %v", got)
	}
	rows, err = db.QueryContext(reader(ctx), "SELECT name FROM t ORDER BY id -- all")
	if got := names(t, rows, err); !slices.Equal(got, []string{"ant", "bee", "cat"}) {
		t.Errorf("a reader gets %v", got)
	}
	if want := "cap SELECT name FROM t ORDER BY id -- all"; seen[len(seen)-1] != want || seen[0] != "reject DELETE FROM t" {
		t.Errorf("verdicts %q", seen)
	}
}

// TestTransactionOutlivesRejection: nothing was sent, so nothing was aborted.
func TestTransactionOutlivesRejection(t *testing.T) {
	db := openSQLite(t, sqlguard.Config{Guard: newGuard(t)})
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	run(t, tx, "INSERT INTO t (name) VALUES ('fox')")
	_, err = tx.ExecContext(t.Context(), "UPDATE t SET name = 'x'")
	wantRejected(t, err, "missing_where")
	run(t, tx, "INSERT INTO t (name) VALUES ('gnu')")
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	rows, err := db.QueryContext(t.Context(), "SELECT name FROM t ORDER BY id")
	if got := names(t, rows, err); len(got) != 7 || got[6] != "gnu" {
		t.Errorf("names %v", got)
	}
}

func TestPrepared(t *testing.T) {
	db := openSQLite(t, sqlguard.Config{Guard: newGuard(t), Class: classOf})
	ctx := t.Context()
	_, err := db.PrepareContext(ctx, "DELETE FROM t WHERE 1=1") //nolint:sqlclosecheck // there is none
	wantRejected(t, err, "missing_where")

	s, err := db.PrepareContext(ctx, "SELECT name FROM t WHERE name LIKE ? ORDER BY id")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	rows, err := s.QueryContext(ctx, "c%")
	if got := names(t, rows, err); !slices.Equal(got, []string{"cat"}) {
		t.Errorf("names %v", got)
	}
	wantRejected(t, s.QueryRowContext(ctx, "%t").Scan(new(string)), "leading_wildcard")

	capped, err := db.PrepareContext(reader(ctx), "SELECT name FROM t ORDER BY id")
	if err != nil {
		t.Fatal(err)
	}
	defer capped.Close()
	rows, err = capped.QueryContext(reader(ctx))
	if got := names(t, rows, err); len(got) != 3 {
		t.Errorf("a reader gets %v", got)
	}

	bound, err := db.PrepareContext(reader(ctx), "SELECT name FROM t ORDER BY id LIMIT ?")
	if err != nil {
		t.Fatal(err)
	}
	defer bound.Close()
	rows, err = bound.QueryContext(reader(ctx), 2)
	if got := names(t, rows, err); len(got) != 2 {
		t.Errorf("a reader gets %v", got)
	}
	wantRejected(t, bound.QueryRowContext(reader(ctx), 100).Scan(new(string)), "missing_limit")
}

func TestConfig(t *testing.T) {
	want := "guard a connector: Guard is nil; want a guard"
	if _, err := sqlguard.Connector(connectTo{}, sqlguard.Config{}); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	for what, make := range map[string]func() error{
		"driver": func() error { _, err := sqlguard.Driver(&sqlite.Driver{}, sqlguard.Config{}); return err },
		"tracer": func() error { _, err := sqlguard.NewTracer(sqlguard.Config{}); return err },
	} {
		if make() == nil {
			t.Errorf("a %s without a guard", what)
		}
	}
}
