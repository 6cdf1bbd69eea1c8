package sqlguard_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/lib/pq"

	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/guard/sqlguard"
)

// wrap guards a connector's connections.
func wrap(t *testing.T, c driver.Connector, config sqlguard.Config) *sql.DB {
	t.Helper()
	guarded, err := sqlguard.Connector(c, config)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(guarded)
	t.Cleanup(func() { db.Close() })
	return db
}

// postgresDrivers are those that speak to PostgreSQL, in their modes.
func postgresDrivers(t *testing.T) map[string]driver.Connector {
	t.Helper()
	server := postgres(t)
	config, err := pgx.ParseConfig(server)
	if err != nil {
		t.Fatal(err)
	}
	simple := config.Copy()
	simple.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	old, err := pq.NewConnector(server)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]driver.Connector{"pgx": stdlib.GetConnector(*config), "pgx, simple protocol": stdlib.GetConnector(*simple), "pq": old}
}

// TestDriversOfPostgres: each does under a guard what it does alone, and what is
// rejected is not sent.
func TestDriversOfPostgres(t *testing.T) {
	for name, c := range postgresDrivers(t) {
		t.Run(name, func(t *testing.T) {
			db := wrap(t, c, sqlguard.Config{Guard: newGuard(t), Dialect: "postgres", Class: classOf})
			driverRejects(t, db)
			driverCaps(t, db)
			driverErrors(t, db)
			driverCancels(t, db)
		})
	}
}

func driverRejects(t *testing.T, db *sql.DB) {
	t.Helper()
	ctx := t.Context()
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelSerializable})
	if err != nil {
		t.Fatal(err)
	}
	run(t, tx, "UPDATE t SET name = $1 WHERE id = $2", "changed", 1)
	_, err = tx.ExecContext(ctx, "UPDATE t SET name = $1 WHERE name LIKE $2", "x", "%1")
	wantRejected(t, err, "leading_wildcard")
	if !errors.Is(err, sqlguard.ErrRejected) {
		t.Errorf("%v is no rejection", err)
	}
	_, err = tx.ExecContext(ctx, "SELECT 1; DELETE FROM t")
	wantRejected(t, err, "missing_where")
	s, err := tx.PrepareContext(ctx, "SELECT name FROM t WHERE name LIKE $1")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	rows, err := s.QueryContext(ctx, "chan%")
	if got := names(t, rows, err); !slices.Equal(got, []string{"changed"}) {
		t.Errorf("names %v", got)
	}
	wantRejected(t, s.QueryRowContext(ctx, "%1").Scan(new(string)), "leading_wildcard")
	if err := tx.Rollback(); err != nil {
		t.Error(err)
	}
	var name string
	if err := db.QueryRowContext(ctx, "SELECT name FROM t WHERE id = $1", 1).Scan(&name); err != nil || name != "name 1" {
		t.Errorf("name %q, %v", name, err)
	}
}

// driverCaps has a LIMIT appended behind placeholders, whose values stay.
func driverCaps(t *testing.T, db *sql.DB) {
	t.Helper()
	rows, err := db.QueryContext(reader(t.Context()), "SELECT name FROM t WHERE id > $1 AND name <> $2 ORDER BY id -- all", 4, "name 6")
	if got := names(t, rows, err); !slices.Equal(got, []string{"name 5", "name 7", "name 8"}) {
		t.Errorf("a reader gets %v", got)
	}
}

func driverErrors(t *testing.T, db *sql.DB) {
	t.Helper()
	_, err := db.ExecContext(t.Context(), "INSERT INTO t (id, name) VALUES (1, 'again')")
	code := ""
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		code = e.Code
	}
	if e, ok := errors.AsType[*pq.Error](err); ok {
		code = string(e.Code)
	}
	if code != "23505" || errors.Is(err, sqlguard.ErrRejected) {
		t.Errorf("the driver's error is %T %v", err, err)
	}
}

// driverCancels has a statement wait for a row that another holds. A server
// forgets a cancellation that comes before the statement, and some drivers wait
// for ever then, so that it is tried again with more time.
func driverCancels(t *testing.T, db *sql.DB) {
	t.Helper()
	for wait := 30 * time.Millisecond; !canceled(t, db, wait); wait *= 5 {
		if wait > 10*time.Second {
			t.Fatal("a statement whose context is over goes on")
		}
	}
	if err := db.PingContext(t.Context()); err != nil {
		t.Error(err)
	}
}

// canceled reports whether a statement ended that was canceled after wait.
func canceled(t *testing.T, db *sql.DB, wait time.Duration) bool {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	run(t, tx, "UPDATE t SET name = 'held' WHERE id = 2")
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := db.ExecContext(ctx, "UPDATE t SET name = 'late' WHERE id = 2")
		ended <- err
	}()
	select {
	case err = <-ended:
	case <-time.After(wait + 10*time.Second):
		if err := tx.Rollback(); err != nil {
			t.Error(err)
		}
		<-ended
		return false
	}
	if err == nil || errors.Is(err, sqlguard.ErrRejected) {
		t.Errorf("a statement that was canceled: %v", err)
	}
	if err := tx.Rollback(); err != nil {
		t.Error(err)
	}
	return true
}

// TestCopyIn: a COPY of pq is a statement that is prepared, and runs many times.
func TestCopyIn(t *testing.T) {
	db := wrap(t, postgresDrivers(t)["pq"], sqlguard.Config{Guard: newGuard(t), Dialect: "postgres"})
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	copyIn(t, tx)
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	var n int
	if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM t WHERE id >= 100").Scan(&n); err != nil || n != 3 {
		t.Errorf("%d rows, %v", n, err)
	}
}

func copyIn(t *testing.T, tx *sql.Tx) {
	t.Helper()
	s, err := tx.PrepareContext(t.Context(), `COPY t (id, name) FROM STDIN`)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i := range 3 {
		if _, err := s.ExecContext(t.Context(), 100+i, fmt.Sprint("copied ", i)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.ExecContext(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestPgxCopyFrom: what a tracer does not see goes on as it was.
func TestPgxCopyFrom(t *testing.T) {
	tracer, err := sqlguard.NewTracer(sqlguard.Config{Guard: newGuard(t)})
	if err != nil {
		t.Fatal(err)
	}
	config, err := pgx.ParseConfig(postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	config.Tracer = tracer
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	n, err := conn.CopyFrom(t.Context(), pgx.Identifier{"t"}, []string{"id", "name"}, pgx.CopyFromRows([][]any{{100, "a"}, {101, "b"}}))
	if err != nil || n != 2 {
		t.Errorf("%d rows, %v", n, err)
	}
	_, err = conn.Exec(t.Context(), "INSERT INTO t (id) VALUES (100)")
	if e, ok := errors.AsType[*pgconn.PgError](err); !ok || e.Code != "23505" {
		t.Errorf("the driver's error is %T %v", err, err)
	}
}

// TestReportOnly: everything goes on, and is told.
func TestReportOnly(t *testing.T) {
	g, err := guard.New(guard.Config{Limits: guard.Limits{ReportOnly: true}})
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	db := openSQLite(t, sqlguard.Config{
		Guard: g, Caller: func(context.Context) string { return "nightly" },
		OnVerdict: func(_ context.Context, query string, v *guard.Verdict) {
			told = append(told, fmt.Sprint(v.Verdict, " ", v.Findings[0].Predictor, " ", query))
		},
	})
	run(t, db, "DELETE FROM t")
	if want := []string{"report missing_where DELETE FROM t"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
	var n int
	if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM t").Scan(&n); err != nil || n != 0 {
		t.Errorf("%d rows, %v", n, err)
	}
	if c := g.Callers(10); len(c) != 1 || c[0].Caller != "nightly" || c[0].Rejected != 0 || c[0].Reported != 1 {
		t.Errorf("%+v", c)
	}
}

// nobody is a driver that has an answer at once, so that a benchmark sees the
// guard alone.
type nobody struct{ plainConn }

func (c *nobody) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	return empty{}, nil
}

type nobodies struct{}

func (nobodies) Connect(context.Context) (driver.Conn, error) {
	return &nobody{plainConn{&plain{}}}, nil
}
func (nobodies) Driver() driver.Driver { return &plain{} }

// BenchmarkQuery is what a guard adds to a query: the difference between both.
func BenchmarkQuery(b *testing.B) {
	guarded, err := sqlguard.Connector(nobodies{}, sqlguard.Config{Guard: newGuard(b), Dialect: "postgres"})
	if err != nil {
		b.Fatal(err)
	}
	const query = "SELECT o.id, o.total, c.name FROM orders AS o JOIN customers AS c ON c.id = o.customer_id WHERE o.customer_id = $1 AND o.placed > $2 ORDER BY o.placed DESC LIMIT 50"
	for name, c := range map[string]driver.Connector{"alone": nobodies{}, "guarded": guarded} {
		b.Run(name, func(b *testing.B) {
			db := sql.OpenDB(c)
			defer db.Close()
			b.ReportAllocs()
			for b.Loop() {
				if err := db.QueryRowContext(b.Context(), query, 7, "2026-11-01").Scan(nil); !errors.Is(err, sql.ErrNoRows) {
					b.Fatal(err)
				}
			}
		})
	}
}
