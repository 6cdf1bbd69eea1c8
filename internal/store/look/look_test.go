package look

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"
)

func TestQuery(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a b.db")
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("create table t (n int); insert into t values (1)"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	t.Run("sqlite", func(t *testing.T) { looks(t, "sqlite:"+file) })
	t.Run("postgres", func(t *testing.T) {
		at := os.Getenv("BEZOAR_TEST_POSTGRES")
		if at == "" {
			t.Skip("no PostgreSQL: run make test, or export BEZOAR_TEST_POSTGRES=$(scripts/postgres start)")
		}
		looks(t, at)
	})
	for _, dsn := range []string{"", "mysql://x", "postgres://%zz", "sqlite:" + file + "-none"} {
		if _, err := Query(t.Context(), dsn, "select 1"); err == nil {
			t.Errorf("%q: no error", dsn)
		}
	}
}

func looks(t *testing.T, dsn string) {
	t.Helper()
	for query, want := range map[string]bool{
		"select 1":                   true,
		"select 2, 0":                true,
		"select 0, 1":                false,
		"select null":                false,
		"select 1 where 1 = 2":       false,
		"select 1 = 1":               true,
		"select 1 = 2":               false,
		"select 0.0":                 false,
		"select 0.5":                 true,
		"select 'there'":             true,
		"select 'false'":             false,
		"select count(*) from t2":    false, // an error
		"create table v as select 1": false, // an error
		"create table u (n int)":     false, // an error
	} {
		got, err := Query(t.Context(), dsn, query)
		fails := query[:6] != "select" || query == "select count(*) from t2"
		if got != want || (err != nil) != fails {
			t.Errorf("%.10s: %s: %v, %v; want %v", dsn, query, got, err, want)
		}
	}
}
