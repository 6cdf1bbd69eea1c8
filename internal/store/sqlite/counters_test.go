package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"sync"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/store/sqlite"
	"github.com/bezoar-dev/bezoar/quota"
	"github.com/bezoar-dev/bezoar/quota/quotatest"
)

func TestQuota(t *testing.T) {
	var mu sync.Mutex // guards opened
	type at struct {
		db *sqlite.DB
		c  sqlite.Config
	}
	opened := map[quota.Store]at{}
	openAt := func(t *testing.T, c sqlite.Config) quota.Store {
		db := reopen(t, c)
		mu.Lock()
		defer mu.Unlock()
		s := db.Quota()
		opened[s] = at{db, c}
		return s
	}
	find := func(s quota.Store) at {
		mu.Lock()
		defer mu.Unlock()
		return opened[s]
	}
	quotatest.Run(t, quotatest.Harness{
		Open: func(t *testing.T) quota.Store {
			return openAt(t, sqlite.Config{Path: filepath.Join(t.TempDir(), "bezoar.db")})
		},
		Reopen: func(t *testing.T, s quota.Store) quota.Store {
			was := find(s)
			if err := was.db.Close(); err != nil {
				t.Fatal(err)
			}
			return openAt(t, was.c)
		},
		Rows: func(t *testing.T, s quota.Store) (n int) {
			beside, err := sql.Open("sqlite", "file:"+find(s).c.Path+"?_pragma=busy_timeout(5000)")
			if err != nil {
				t.Fatal(err)
			}
			defer beside.Close()
			if err := beside.QueryRowContext(t.Context(), "SELECT count(*) FROM quota_counts").Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		},
	})
}
