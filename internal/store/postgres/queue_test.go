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
	UPDATE {schema}.queue_letters SET died = died - ?; UPDATE {schema}.queue_deaths SET died = died - ?;
	UPDATE {schema}.queue_cases SET since = since - ?, touched = touched - ?, until = CASE WHEN until > 0 THEN until - ? ELSE 0 END;
	UPDATE {schema}.queue_moves SET started = started - ?, next = next - ?, ended = CASE WHEN ended > 0 THEN ended - ? ELSE 0 END;
	UPDATE {schema}.queue_marks SET put = put - ?, until = until - ?;
	UPDATE {schema}.queue_audit SET at = at - ?;`

// emptied makes a store as if it were new: a schema takes longer to make than
// most tests do.
const emptied = `
	DELETE FROM {schema}.queues WHERE name <> '.trash'; DELETE FROM {schema}.queue_messages; DELETE FROM {schema}.queue_payloads;
	DELETE FROM {schema}.queue_tallies; DELETE FROM {schema}.queue_groups; DELETE FROM {schema}.queue_dedups;
	DELETE FROM {schema}.queue_leftovers; DELETE FROM {schema}.queue_letters; DELETE FROM {schema}.queue_deaths; DELETE FROM {schema}.queue_cases;
	DELETE FROM {schema}.queue_moves; DELETE FROM {schema}.queue_endings; DELETE FROM {schema}.queue_marks; DELETE FROM {schema}.queue_audit`

// shelf keeps open stores between tests.
type shelf struct {
	at string

	mu      sync.Mutex // guards all below
	free    []*postgres.DB
	configs map[*postgres.DB]postgres.Config
	opened  map[queue.Store]*postgres.DB
}

func (s *shelf) find(of queue.Store) (*postgres.DB, postgres.Config) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opened[of], s.configs[s.opened[of]]
}

// lend opens a store until the test is over.
func (s *shelf) lend(t *testing.T, db *postgres.DB, c postgres.Config) queue.Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.configs[db], s.opened[db.Queue()] = c, db
	t.Cleanup(func() {
		run(t, inSchema(c.Schema, emptied))
		s.mu.Lock()
		defer s.mu.Unlock()
		if _, ok := s.configs[db]; ok {
			s.free = append(s.free, db)
		}
	})
	return db.Queue()
}

func (s *shelf) take() (*postgres.DB, postgres.Config) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.free) - 1
	if n < 0 {
		return nil, postgres.Config{}
	}
	db := s.free[n]
	s.free = s.free[:n]
	return db, s.configs[db]
}

func (s *shelf) reopen(t *testing.T, top testing.TB, of queue.Store) queue.Store {
	db, c := s.find(of)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	delete(s.configs, db)
	s.mu.Unlock()
	return s.lend(t, open(top, c), c)
}

// queueHarness makes stores at a URL; what it opens lives as long as top.
func queueHarness(top *testing.T, at string) queuetest.Harness {
	s := &shelf{at: at, configs: map[*postgres.DB]postgres.Config{}, opened: map[queue.Store]*postgres.DB{}}
	find := s.find
	return queuetest.Harness{
		Games: 12,
		Around: func(t *testing.T, test func(*testing.T)) {
			t.Parallel() // they mostly wait for the server
			test(t)
		},
		Open: func(t *testing.T) queue.Store {
			db, c := s.take()
			if db == nil {
				c = postgres.Config{URL: at, Schema: newSchema(top)}
				db = open(top, c)
			}
			return s.lend(t, db, c)
		},
		Reopen: func(t *testing.T, of queue.Store) queue.Store { return s.reopen(t, top, of) },
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

func TestQueue(t *testing.T) { queuetest.Run(t, queueHarness(t, server(t))) }

func TestQueueBehindPgBouncer(t *testing.T) {
	server(t)
	at := os.Getenv("BEZOAR_TEST_PGBOUNCER")
	if at == "" {
		t.Skip("no PgBouncer: run make test, or export BEZOAR_TEST_PGBOUNCER=$(scripts/postgres pgbouncer)")
	}
	queuetest.Run(t, queueHarness(t, at))
}
