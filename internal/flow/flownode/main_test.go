package flownode_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/flow/flownode"
	"github.com/bezoar-dev/bezoar/internal/process/guardian"
	"github.com/bezoar-dev/bezoar/internal/store"
)

// What a node in a process of its own is told.
const (
	envStore = "FLOWNODE_TEST_STORE"
	envDir   = "FLOWNODE_TEST_DIR"
	envName  = "FLOWNODE_TEST_NAME"
	envLease = "FLOWNODE_TEST_LEASE"
)

// TestMain also is the nodes of these tests, and their guardians.
func TestMain(m *testing.M) {
	if guardian.Run() {
		return
	}
	if at := os.Getenv(envStore); at != "" {
		if err := runNode(at); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// runNode is a node until it is killed.
func runNode(at string) error {
	ctx := context.Background()
	lease, err := time.ParseDuration(os.Getenv(envLease))
	if err != nil {
		return err
	}
	stores, err := store.Open(ctx, at, store.Config{})
	if err != nil {
		return err
	}
	n, err := flownode.Open(ctx, flownode.Config{
		Config: flow.Config{Store: stores.Flow, Node: os.Getenv(envName), Slots: 3, Lease: lease, Log: logger()},
		Dir:    os.Getenv(envDir), Watch: guardian.StartWatch,
	})
	if err != nil {
		return err
	}
	go tellEnds(ctx, stores.Flow)
	return n.Run(ctx)
}

// tellEnds prints the ends of runs.
func tellEnds(ctx context.Context, s flow.Store) {
	told := map[string]bool{}
	for range time.Tick(20 * time.Millisecond) {
		all, err := s.ListRuns(ctx, flow.RunQuery{})
		if err != nil {
			fmt.Println(err)
		}
		for _, r := range all {
			if r.State.Over() && !told[r.ID] {
				told[r.ID] = true
				fmt.Println("ended", r.ID)
			}
		}
	}
}

// newDatabase makes a database of the test's own.
func newDatabase(t *testing.T, server string) string {
	t.Helper()
	name := fmt.Sprintf("flownode_test_%016x", rand.Uint64())
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

func postgresAt(t *testing.T) string {
	t.Helper()
	at := os.Getenv("BEZOAR_TEST_POSTGRES")
	if at == "" {
		t.Skip("no PostgreSQL: run make test, or export BEZOAR_TEST_POSTGRES=$(scripts/postgres start)")
	}
	return at
}

// soaking reports whether tests may take long.
func soaking() bool { return strings.TrimSpace(os.Getenv("BEZOAR_SOAK")) != "" }
