package flownode_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bezoar-dev/bezoar/internal/flownode"
	"github.com/bezoar-dev/bezoar/internal/guardian"
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
		Store: stores.Flow, Dir: os.Getenv(envDir), Name: os.Getenv(envName), Slots: 8, Lease: lease, Log: logger(),
	})
	if err != nil {
		return err
	}
	return n.Run(ctx)
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
