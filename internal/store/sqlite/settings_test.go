package sqlite_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/live"
	"github.com/bezoar-dev/bezoar/internal/control/live/livetest"
	"github.com/bezoar-dev/bezoar/internal/store/sqlite"
)

func TestLive(t *testing.T) {
	var mu sync.Mutex // guards opened and configs
	opened := map[live.Store]*sqlite.DB{}
	configs := map[live.Store]sqlite.Config{}
	openAt := func(t *testing.T, c sqlite.Config) live.Store {
		db := reopen(t, c)
		mu.Lock()
		defer mu.Unlock()
		opened[db.Live()], configs[db.Live()] = db, c
		return db.Live()
	}
	find := func(s live.Store) (*sqlite.DB, sqlite.Config) {
		mu.Lock()
		defer mu.Unlock()
		return opened[s], configs[s]
	}
	livetest.Run(t, livetest.Harness{
		Open: func(t *testing.T) live.Store {
			return openAt(t, sqlite.Config{Path: filepath.Join(t.TempDir(), "bezoar.db")})
		},
		Reopen: func(t *testing.T, s live.Store) live.Store {
			db, c := find(s)
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			return openAt(t, c)
		},
		Copy: func(t *testing.T, s live.Store, n int) {
			_, c := find(s)
			beside(t, c, `WITH RECURSIVE others (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM others WHERE i < ?1 - 1)
				INSERT INTO settings_overrides (id, route, caller, plan, what, factor, value, since, until, who, reason, class, predictor, target)
				SELECT printf('ov-%04d', i), route, CAST(i AS TEXT), plan, what, factor, value, since, until, who, reason, class, predictor, target
				FROM settings_overrides, others WHERE id = 'ov-0001'`, n)
		},
		Age: func(t *testing.T, s live.Store, d time.Duration) {
			db, c := find(s)
			beside(t, c, `UPDATE settings_overrides SET since = since - ?1, until = until - ?1`, d.Microseconds())
			db.AgeNodes(d)
		},
	})
}

// beside writes to a file that a store has open.
func beside(t *testing.T, c sqlite.Config, statement string, args ...any) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+c.Path+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatal(err)
	}
}

// playSettings puts versions and says which are acknowledged, until killed.
func playSettings(s live.Store) error {
	ctx := context.Background()
	base := int64(0)
	if newest, err := s.Version(ctx, 0); err == nil {
		base = newest.Number
	}
	for {
		text := []byte(strings.Repeat(fmt.Sprintf("n: %d\n", base+1), 2000))
		v, err := s.PutVersion(ctx, base, live.Version{By: "x", Source: live.FromAPI, Sum: live.Sum(text), Text: text})
		if err != nil {
			return err
		}
		fmt.Printf("%d %s\n", v.Number, v.Sum)
		base = v.Number
	}
}

// However often a process is killed in the middle of a put: what was
// acknowledged is there, whole, and no number is missing.
func TestVersionsSurviveKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bezoar.db")
	sums := map[int64]string{}
	newest := int64(0)
	for range 4 {
		cmd, lines := child(t, "settings", path)
		for range 15 {
			if !lines.Scan() {
				t.Fatalf("the writer stopped by itself: %v", lines.Err())
			}
			var sum string
			if _, err := fmt.Sscan(lines.Text(), &newest, &sum); err != nil {
				t.Fatal(err)
			}
			sums[newest] = sum
		}
		kill(t, cmd)
	}
	s := open(t, sqlite.Config{Path: path}).Live()
	found, err := s.Versions(t.Context(), live.KeepVersions)
	if err != nil || len(found) == 0 || found[0].Number < newest {
		t.Fatalf("%d was acknowledged; there are %+v, %v", newest, found, err)
	}
	for i, listed := range found {
		v, err := s.Version(t.Context(), listed.Number)
		if err != nil || v.Sum != live.Sum(v.Text) || v.Number != found[0].Number-int64(i) {
			t.Errorf("version %d at place %d: sum %s of %d bytes, %v", v.Number, i, v.Sum, len(v.Text), err)
		}
		if sum, ok := sums[v.Number]; ok && sum != v.Sum {
			t.Errorf("version %d was acknowledged with another text", v.Number)
		}
	}
	if r, err := s.Revision(t.Context()); err != nil || r != found[0].Number {
		t.Errorf("the revision is %d after %d versions, %v", r, found[0].Number, err)
	}
}

func BenchmarkRevision(b *testing.B) {
	db := open(b, sqlite.Config{Path: filepath.Join(b.TempDir(), "bezoar.db")})
	for b.Loop() {
		if _, err := db.Live().Revision(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
