package postgres_test

import (
	"os"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/store/postgres"
)

func TestInspectSeesSchemaClockAndPooler(t *testing.T) {
	c := postgres.Config{URL: server(t), Schema: newSchema(t)}
	look := func(c postgres.Config) postgres.Inspection {
		t.Helper()
		found, err := postgres.Inspect(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if found := look(c); found.Has != 0 || found.Knows < 1 || found.Pooler != postgres.Direct || found.Prepares {
		t.Errorf("before the first start: %+v", found)
	}
	db, err := postgres.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	found := look(postgres.Config{URL: with(t, c.URL, "default_query_exec_mode", "cache_statement"), Schema: c.Schema})
	if found.Has != found.Knows || !found.Prepares || time.Since(found.Clock).Abs() > time.Minute { // it is this machine's
		t.Errorf("after it: %+v", found)
	}
	pooled := os.Getenv("BEZOAR_TEST_PGBOUNCER")
	if pooled == "" {
		t.Skip("no PgBouncer: run make test, or export BEZOAR_TEST_PGBOUNCER=$(scripts/postgres pgbouncer)")
	}
	if found := look(postgres.Config{URL: pooled, Schema: c.Schema}); found.Pooler != postgres.PoolsTransactions || found.Has != found.Knows {
		t.Errorf("behind PgBouncer: %+v", found)
	}
}
