package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/store/sqlite"
	"github.com/bezoar-dev/bezoar/queue"
	"github.com/bezoar-dev/bezoar/queue/queuetest"
)

// older makes everything about queues older by ? microseconds.
const older = `
	UPDATE queue_messages SET sent = sent - ?1, since = since - ?1, visible = visible - ?1, received = received - ?1,
		due = CASE WHEN due > 0 THEN due - ?1 ELSE due END, first = CASE WHEN first > 0 THEN first - ?1 ELSE 0 END;
	UPDATE queue_groups SET ready = ready - ?1;
	UPDATE queue_dedups SET sent = sent - ?1;
	UPDATE queue_moves SET started = started - ?1, next = next - ?1, ended = CASE WHEN ended > 0 THEN ended - ?1 ELSE 0 END;
	UPDATE queue_deaths SET died = died - ?1;
	UPDATE queue_letters SET doc = CAST(json_set(CAST(doc AS TEXT), '$.died',
		strftime('%Y-%m-%dT%H:%M:%fZ', CAST(doc AS TEXT) ->> '$.died', printf('-%f seconds', ?1 / 1e6))) AS BLOB);
	UPDATE queue_cases SET since = since - ?1, touched = touched - ?1, kept = kept - ?1,
		until = CASE WHEN until > 0 THEN until - ?1 ELSE 0 END;
	UPDATE queue_marks SET put = put - ?1, until = until - ?1;
	UPDATE queue_audit SET at = at - ?1;`

func TestQueue(t *testing.T) {
	var mu sync.Mutex // guards opened and configs
	opened := map[queue.Store]*sqlite.DB{}
	configs := map[queue.Store]sqlite.Config{}
	openAt := func(t *testing.T, c sqlite.Config) queue.Store {
		db := reopen(t, c)
		mu.Lock()
		defer mu.Unlock()
		opened[db.Queue()], configs[db.Queue()] = db, c
		return db.Queue()
	}
	find := func(s queue.Store) (*sqlite.DB, sqlite.Config) {
		mu.Lock()
		defer mu.Unlock()
		return opened[s], configs[s]
	}
	queuetest.Run(t, queuetest.Harness{
		Games: 6,
		Around: func(t *testing.T, test func(*testing.T)) {
			t.Parallel() // they mostly wait for the disk
			test(t)
		},
		Open: func(t *testing.T) queue.Store {
			return openAt(t, sqlite.Config{Path: filepath.Join(t.TempDir(), "bezoar.db")})
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
			beside, err := sql.Open("sqlite", "file:"+c.Path+"?_pragma=busy_timeout(5000)")
			if err != nil {
				t.Fatal(err)
			}
			defer beside.Close()
			if _, err := beside.ExecContext(t.Context(), older, d.Microseconds()); err != nil {
				t.Fatal(err)
			}
		},
	})
}
