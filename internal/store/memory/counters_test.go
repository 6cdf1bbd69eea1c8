package memory

import (
	"testing"

	"github.com/bezoar-dev/bezoar/quota"
	"github.com/bezoar-dev/bezoar/quota/quotatest"
)

func TestQuota(t *testing.T) {
	quotatest.Run(t, quotatest.Harness{
		Open: func(t *testing.T) quota.Store {
			db, err := Open(Config{})
			if err != nil {
				t.Fatal(err)
			}
			return db.Quota()
		},
		Rows: func(_ *testing.T, s quota.Store) int {
			q := s.(*quotaStore)
			q.mu.Lock()
			defer q.mu.Unlock()
			return len(q.counts)
		},
	})
}
