package cdc

import (
	"os"
	"strings"
	"testing"
)

// PgBouncer refuses a connection for replication in words that name no pooler. The error
// says what it means.
func TestAPoolerIsNamed(t *testing.T) {
	at := os.Getenv("BEZOAR_TEST_PGBOUNCER")
	if at == "" {
		t.Skip("no PgBouncer: run make test, or export BEZOAR_TEST_PGBOUNCER=$(scripts/postgres pgbouncer)")
	}
	c := Config{URL: at, Slot: "pooled", Publication: "pooled"}
	if _, err := c.replicate(t.Context()); err == nil || !strings.Contains(err.Error(), "names a pooler") {
		t.Errorf("replication through a pooler: %v", err)
	}
	if _, err := c.connect(t.Context()); err == nil || !strings.Contains(err.Error(), "names a pooler") {
		t.Errorf("statements through a pooler: %v", err)
	}
}
