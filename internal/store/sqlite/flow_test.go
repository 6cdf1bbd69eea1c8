package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/flow/flowtest"
	"github.com/bezoar-dev/bezoar/internal/store/sqlite"
)

func TestFlow(t *testing.T) {
	var mu sync.Mutex // guards opened and configs
	opened := map[flow.Store]*sqlite.DB{}
	configs := map[flow.Store]sqlite.Config{}
	openAt := func(t *testing.T, c sqlite.Config) flow.Store {
		db := reopen(t, c)
		s := db.Flow()
		mu.Lock()
		defer mu.Unlock()
		opened[s], configs[s] = db, c
		return s
	}
	find := func(s flow.Store) (*sqlite.DB, sqlite.Config) {
		mu.Lock()
		defer mu.Unlock()
		return opened[s], configs[s]
	}
	flowtest.Run(t, flowtest.Harness{
		Around: func(t *testing.T, test func(*testing.T)) {
			t.Parallel() // they mostly wait for the disk
			test(t)
		},
		Open: func(t *testing.T) flow.Store {
			return openAt(t, sqlite.Config{Path: filepath.Join(t.TempDir(), "bezoar.db")})
		},
		Reopen: func(t *testing.T, s flow.Store) flow.Store {
			db, c := find(s)
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			return openAt(t, c)
		},
		Age: func(t testing.TB, s flow.Store, d time.Duration) {
			t.Helper()
			_, c := find(s)
			beside, err := sql.Open("sqlite", "file:"+c.Path+"?_pragma=busy_timeout(5000)")
			if err != nil {
				t.Fatal(err)
			}
			defer beside.Close()
			if _, err := beside.ExecContext(t.Context(), `UPDATE flow_nodes SET seen = seen - ?1, until = until - ?1`, (d + time.Microsecond).Microseconds()); err != nil {
				t.Fatal(err)
			}
		},
	})
}
