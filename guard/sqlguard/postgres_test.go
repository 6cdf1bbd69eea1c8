package sqlguard_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/bezoar-dev/bezoar/guard/sqlguard"
)

// postgres is a server with a schema of its own, which holds the table t.
func postgres(t *testing.T) string {
	t.Helper()
	server := os.Getenv("BEZOAR_TEST_POSTGRES")
	if server == "" {
		t.Skip("no PostgreSQL: run with scripts/with-servers")
	}
	schema := "guard_" + strings.ToLower(rand.Text()[:12])
	admin, err := pgx.Connect(t.Context(), server)
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		"CREATE SCHEMA " + schema,
		"CREATE TABLE " + schema + ".t (id int PRIMARY KEY, name text)",
		"INSERT INTO " + schema + ".t SELECT n, 'name ' || n FROM generate_series(1, 10) n",
	} {
		if _, err := admin.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if _, err := admin.Exec(context.Background(), "DROP SCHEMA "+schema+" CASCADE"); err != nil {
			t.Error(err)
		}
		admin.Close(context.Background())
	})
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("search_path", schema)
	u.RawQuery = q.Encode()
	return u.String()
}

func count(t *testing.T, db *pgx.Conn) (n int) {
	t.Helper()
	if err := db.QueryRow(t.Context(), "SELECT count(*) FROM t").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func ids(t *testing.T, rows pgx.Rows, err error) []int {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestTracer(t *testing.T) {
	tracer, err := sqlguard.NewTracer(sqlguard.Config{Guard: newGuard(t), Class: classOf})
	if err != nil {
		t.Fatal(err)
	}
	modes := []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
	}
	server := postgres(t)
	for _, mode := range modes {
		config, err := pgx.ParseConfig(server)
		if err != nil {
			t.Fatal(err)
		}
		config.Tracer, config.DefaultQueryExecMode = tracer, mode
		conn, err := pgx.ConnectConfig(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		tracerRefuses(t, conn)
		conn.Close(t.Context())
	}
}

func tracerRefuses(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	ctx := t.Context()
	tx, err := conn.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	_, err = tx.Exec(ctx, "DELETE FROM t")
	wantRejected(t, err, "missing_where")
	_, err = tx.Exec(ctx, "UPDATE t SET name = $1 WHERE name LIKE $2", "x", "%x")
	wantRejected(t, err, "leading_wildcard")
	_, err = tx.Exec(ctx, "UPDATE t SET name = @new WHERE name LIKE @old", pgx.NamedArgs{"new": "x", "old": "%x"})
	wantRejected(t, err, "leading_wildcard")
	rows, err := tx.Query(ctx, "SELECT id FROM t OFFSET $1", 100_000)
	rows.Close()
	if err == nil {
		err = rows.Err()
	}
	wantRejected(t, err, "offset")
	wantRejected(t, tx.QueryRow(ctx, "SELECT pg_sleep(10)").Scan(nil), "denied_function")

	var b pgx.Batch
	b.Queue("UPDATE t SET name = 'y' WHERE id = 1")
	b.Queue("DELETE FROM t WHERE true")
	wantRejected(t, tx.SendBatch(ctx, &b).Close(), "missing_where")

	_, err = conn.Prepare(ctx, "all", "DELETE FROM t")
	wantRejected(t, err, "missing_where")
	if _, err := conn.Prepare(ctx, "like", "SELECT id FROM t WHERE name LIKE $1 ORDER BY id"); err != nil {
		t.Fatal(err)
	}
	rows, err = tx.Query(ctx, "like", "name 1%")
	if got := ids(t, rows, err); !slices.Equal(got, []int{1, 10}) {
		t.Errorf("ids %v", got)
	}
	wantRejected(t, tx.QueryRow(ctx, "like", "%1").Scan(nil), "leading_wildcard")

	// The transaction is still open, and nothing was changed.
	var name string
	if err := tx.QueryRow(ctx, "SELECT name FROM t WHERE id = $1", 1).Scan(&name); err != nil || name != "name 1" {
		t.Errorf("name %q, %v", name, err)
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if n := count(t, conn); n != 10 {
		t.Errorf("%d rows", n)
	}
	wantRejected(t, conn.QueryRow(reader(ctx), "SELECT id FROM t").Scan(nil), "missing_limit") // a tracer cannot cap
}

// TestPgxStdlib: pgx under database/sql keeps its arrays.
func TestPgxStdlib(t *testing.T) {
	config, err := pgx.ParseConfig(postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	c, err := sqlguard.Connector(stdlib.GetConnector(*config), sqlguard.Config{Guard: newGuard(t), Dialect: "postgres", Class: classOf})
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(c)
	defer db.Close()
	rows, err := db.QueryContext(reader(t.Context()), "SELECT name FROM t ORDER BY id LIMIT $1", 9)
	if got := names(t, rows, err); !slices.Equal(got, []string{"name 1", "name 2", "name 3"}) {
		t.Errorf("a reader who asks for nine gets %v", got)
	}
	rows, err = db.QueryContext(t.Context(), "SELECT name FROM t WHERE id = ANY($1) ORDER BY id", []int32{2, 3})
	if got := names(t, rows, err); !slices.Equal(got, []string{"name 2", "name 3"}) {
		t.Errorf("names %v", got)
	}
	wantRejected(t, db.QueryRowContext(t.Context(), "SELECT name FROM t WHERE id = ANY($1)", make([]int32, 1001)).Scan(new(string)), "in_list")
	_, err = db.ExecContext(t.Context(), "UPDATE t SET name = ''")
	wantRejected(t, err, "missing_where")
}
