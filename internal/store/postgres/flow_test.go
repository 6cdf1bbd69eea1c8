package postgres_test

import (
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/flow/flowtest"
	"github.com/bezoar-dev/bezoar/internal/store/postgres"
	"github.com/bezoar-dev/bezoar/internal/test/pace"
)

// emptiedFlows makes a store as if it were new: a schema takes longer to make than
// most tests do.
const emptiedFlows = `DELETE FROM %[1]s.flow_orders; DELETE FROM %[1]s.flow_runs; DELETE FROM %[1]s.flow_definitions; DELETE FROM %[1]s.flow_instances;
	DELETE FROM %[1]s.flow_attempts; DELETE FROM %[1]s.flow_effects; DELETE FROM %[1]s.flow_nodes`

func runFlows(t *testing.T, at string) {
	var mu sync.Mutex // guards all below
	opened := map[flow.Store]*postgres.DB{}
	configs := map[flow.Store]postgres.Config{}
	var free []flow.Store
	openAt := func(t *testing.T, c postgres.Config) flow.Store {
		db := open(t, c)
		mu.Lock()
		defer mu.Unlock()
		opened[db.Flow()], configs[db.Flow()] = db, c
		return db.Flow()
	}
	find := func(s flow.Store) (*postgres.DB, postgres.Config) {
		mu.Lock()
		defer mu.Unlock()
		return opened[s], configs[s]
	}
	flowtest.Run(t, flowtest.Harness{
		Open: func(sub *testing.T) flow.Store {
			mu.Lock()
			defer mu.Unlock()
			var s flow.Store
			if n := len(free); n > 0 {
				s, free = free[n-1], free[:n-1]
			} else {
				mu.Unlock()
				s = openAt(t, postgres.Config{URL: at, Schema: newSchema(t)})
				mu.Lock()
			}
			c := configs[s]
			sub.Cleanup(func() {
				run(sub, fmt.Sprintf(emptiedFlows, c.Schema))
				mu.Lock()
				defer mu.Unlock()
				if opened[s] != nil {
					free = append(free, s)
				}
			})
			return s
		},
		Reopen: func(sub *testing.T, s flow.Store) flow.Store {
			db, c := find(s)
			mu.Lock()
			delete(opened, s)
			mu.Unlock()
			if err := db.Close(); err != nil {
				sub.Fatal(err)
			}
			return openAt(sub, c)
		},
		Age: func(t testing.TB, s flow.Store, d time.Duration) {
			_, c := find(s)
			run(t, fmt.Sprintf(`UPDATE %s.flow_nodes SET seen = seen - %[2]d, until = until - %[2]d`, c.Schema, (d+time.Microsecond).Microseconds()))
		},
	})
}

func TestFlow(t *testing.T) {
	t.Parallel()
	runFlows(t, server(t))
}

func TestFlowBehindPgBouncer(t *testing.T) {
	t.Parallel()
	pace.Alone(t) // what runs at once is the same without it
	server(t)
	at := os.Getenv("BEZOAR_TEST_PGBOUNCER")
	if at == "" {
		t.Skip("no PgBouncer: run make test, or export BEZOAR_TEST_PGBOUNCER=$(scripts/postgres pgbouncer)")
	}
	runFlows(t, at)
}
