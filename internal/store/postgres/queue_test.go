package postgres_test

import (
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bezoar-dev/bezoar/internal/store/postgres"
	"github.com/bezoar-dev/bezoar/queue"
	"github.com/bezoar-dev/bezoar/queue/queuetest"
)

// older makes everything about queues older by ? microseconds.
const older = `
	UPDATE {schema}.queue_payloads SET sent = sent - ?;
	UPDATE {schema}.queue_messages SET since = since - ?, visible = visible - ?, received = received - ?,
		due = CASE WHEN due > 0 THEN due - ? ELSE 0 END, first = CASE WHEN first > 0 THEN first - ? ELSE 0 END;
	UPDATE {schema}.queue_groups SET ready = ready - ?;
	UPDATE {schema}.queue_dedups SET sent = sent - ?;
	UPDATE {schema}.queue_leftovers SET since = since - ?;
	UPDATE {schema}.queue_letters SET died = died - ?;
	UPDATE {schema}.queue_cases SET since = since - ?, touched = touched - ?, until = CASE WHEN until > 0 THEN until - ? ELSE 0 END;
	UPDATE {schema}.queue_moves SET started = started - ?, next = next - ?, ended = CASE WHEN ended > 0 THEN ended - ? ELSE 0 END;
	UPDATE {schema}.queue_marks SET put = put - ?, until = until - ?;
	UPDATE {schema}.queue_audit SET at = at - ?;`

// queueHarness makes stores at a URL.
func queueHarness(at string) queuetest.Harness {
	var mu sync.Mutex // guards opened and configs
	opened := map[queue.Store]*postgres.DB{}
	configs := map[queue.Store]postgres.Config{}
	openAt := func(t *testing.T, c postgres.Config) queue.Store {
		db := open(t, c)
		mu.Lock()
		defer mu.Unlock()
		opened[db.Queue()], configs[db.Queue()] = db, c
		return db.Queue()
	}
	find := func(s queue.Store) (*postgres.DB, postgres.Config) {
		mu.Lock()
		defer mu.Unlock()
		return opened[s], configs[s]
	}
	return queuetest.Harness{
		Games: 12,
		Around: func(t *testing.T, test func(*testing.T)) {
			t.Parallel() // they mostly wait for the server
			test(t)
		},
		Open: func(t *testing.T) queue.Store {
			return openAt(t, postgres.Config{URL: at, Schema: newSchema(t)})
		},
		Reopen: func(t *testing.T, s queue.Store) queue.Store {
			db, c := find(s)
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			return openAt(t, c)
		},
		Age: func(t testing.TB, s queue.Store, d time.Duration) {
			t.Helper()
			_, c := find(s)
			conn, err := pgx.Connect(t.Context(), server(t))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close(t.Context())
			text := strings.NewReplacer("{schema}", c.Schema, "?", "@by").Replace(older)
			for statement := range strings.SplitSeq(text, ";") {
				if strings.TrimSpace(statement) == "" {
					continue
				}
				if _, err := conn.Exec(t.Context(), statement, pgx.NamedArgs{"by": d.Microseconds()}); err != nil {
					t.Fatal(err)
				}
			}
		},
	}
}

func TestQueue(t *testing.T) { queuetest.Run(t, queueHarness(server(t))) }

func TestQueueBehindPgBouncer(t *testing.T) {
	server(t)
	at := os.Getenv("BEZOAR_TEST_PGBOUNCER")
	if at == "" {
		t.Skip("no PgBouncer: run make test, or export BEZOAR_TEST_PGBOUNCER=$(scripts/postgres pgbouncer)")
	}
	queuetest.Run(t, queueHarness(at))
}
