package app_test

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"net/url"
	"os"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar/internal/test/pace"
)

// storeKind is a store that end-to-end tests run on.
type storeKind struct {
	name string
	open func(t *testing.T, dir string) string // returns its URL
}

// stores are those that can be had here: PostgreSQL needs a server. Without
// BEZOAR_SOAK it is one of them, the one that is named where it can be had: what a
// store promises, its own tests hold. Under the race detector one is enough as well.
func stores(t *testing.T, plain string) []storeKind {
	t.Helper()
	all := []storeKind{{"sqlite", func(_ *testing.T, dir string) string { return sqliteIn(dir) }}}
	if at := os.Getenv("BEZOAR_TEST_POSTGRES"); at != "" {
		all = append(all, storeKind{"postgres", func(t *testing.T, _ string) string { return newDatabase(t, at) }})
	}
	if pace.Watched {
		return all[len(all)-1:] // SQLite is many times slower there
	}
	if !pace.Soaking() {
		if i := slices.IndexFunc(all, func(s storeKind) bool { return s.name == plain }); i >= 0 {
			return all[i : i+1]
		}
	}
	return all
}

// newDatabase makes a database for one test and drops it afterwards.
func newDatabase(t *testing.T, server string) string {
	t.Helper()
	var random [8]byte
	_, _ = rand.Read(random[:])
	name := "app_test_" + hex.EncodeToString(random[:])
	run := func(statement string) {
		conn, err := pgx.Connect(context.Background(), server)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(context.Background())
		if _, err := conn.Exec(context.Background(), statement); err != nil {
			t.Fatal(err)
		}
	}
	run("CREATE DATABASE " + name)
	t.Cleanup(func() { run("DROP DATABASE " + name + " WITH (FORCE)") })
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	return u.String()
}
