package postgres_test

import (
	"os"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar/internal/store/postgres"
	"github.com/bezoar-dev/bezoar/internal/test/pace"
	"github.com/bezoar-dev/bezoar/quota"
	"github.com/bezoar-dev/bezoar/quota/quotatest"
)

func runQuotaSuite(t *testing.T, at string) {
	type place struct {
		db *postgres.DB
		c  postgres.Config
	}
	var mu sync.Mutex // guards opened
	opened := map[quota.Store]place{}
	openAt := func(t *testing.T, c postgres.Config) quota.Store {
		db := open(t, c)
		mu.Lock()
		defer mu.Unlock()
		opened[db.Quota()] = place{db, c}
		return db.Quota()
	}
	find := func(s quota.Store) place {
		mu.Lock()
		defer mu.Unlock()
		return opened[s]
	}
	quotatest.Run(t, quotatest.Harness{
		Open: func(t *testing.T) quota.Store {
			return openAt(t, postgres.Config{URL: at, Schema: newSchema(t)})
		},
		Reopen: func(t *testing.T, s quota.Store) quota.Store {
			was := find(s)
			if err := was.db.Close(); err != nil {
				t.Fatal(err)
			}
			return openAt(t, was.c)
		},
		Rows: func(t *testing.T, s quota.Store) (n int) {
			conn, err := pgx.Connect(t.Context(), server(t))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close(t.Context())
			if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM "+find(s).c.Schema+".quota_counts").Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		},
	})
}

func TestQuota(t *testing.T) {
	t.Parallel()
	runQuotaSuite(t, server(t))
}

func TestQuotaBehindPgBouncer(t *testing.T) {
	pace.Alone(t) // what runs at once is the same without it
	t.Parallel()
	server(t)
	at := os.Getenv("BEZOAR_TEST_PGBOUNCER")
	if at == "" {
		t.Skip("no PgBouncer: run make test, or export BEZOAR_TEST_PGBOUNCER=$(scripts/postgres pgbouncer)")
	}
	runQuotaSuite(t, at)
}

// Every way of pgx to run a statement encodes arrays in its own way.
func TestQuotaExecModes(t *testing.T) {
	at := server(t)
	for _, mode := range []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s := open(t, postgres.Config{URL: with(t, at, "default_query_exec_mode", mode), Schema: newSchema(t)}).Quota()
			for seq := int64(1); seq <= 3; seq++ { // the second may use what the first cached
				totals, err := s.AddCounts(t.Context(), quota.Batch{Node: "\x00\xff'\\", Seq: seq, Counts: []quota.Count{
					{Row: quota.Row{Quota: 1 << 63, Key: quota.Key{0, 0xff, '\'', '\\'}, Bucket: -7}, N: 2, Floor: 10, Keep: time.Hour},
					{Row: quota.Row{Quota: 2}, Keep: time.Hour},
				}})
				if err != nil || len(totals.N) != 2 || totals.N[0] != 10+2*seq || totals.N[1] != 0 || totals.Now.IsZero() {
					t.Fatalf("%+v, %v", totals, err)
				}
			}
		})
	}
}
