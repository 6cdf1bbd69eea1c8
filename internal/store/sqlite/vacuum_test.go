package sqlite_test

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/store/sqlite"
	"github.com/bezoar-dev/bezoar/queue"
)

// emptied is a store that held 20 MB in a queue which was purged.
func emptied(t *testing.T, c sqlite.Config) (*sqlite.DB, *queue.Engine, int64) {
	t.Helper()
	db := reopen(t, c)
	e, err := queue.New(queue.Config{}, db.Queue())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.CreateQueue(t.Context(), "jobs", queue.DefaultSettings(), nil); err != nil {
		t.Fatal(err)
	}
	body := strings.Repeat("x", 100_000)
	var senders sync.WaitGroup
	for range 4 {
		senders.Go(func() {
			for range 50 {
				if _, err := e.Send(context.WithoutCancel(t.Context()), "jobs", queue.SendInput{Body: []byte(body)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	senders.Wait()
	if err := e.Purge(t.Context(), "jobs"); err != nil {
		t.Fatal(err)
	}
	for n := 1; n > 0; {
		if n, err = db.Queue().Clean(t.Context(), 1000); err != nil {
			t.Fatal(err)
		}
	}
	execSQL(t, c.Path, "PRAGMA wal_checkpoint(PASSIVE)")
	return db, e, sizeOf(t, c.Path)
}

func sizeOf(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// Space comes back after a purge, though not all of it, and messages go on meanwhile.
func TestAPurgeGivesSpaceBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bezoar.db")
	db, e, full := emptied(t, sqlite.Config{Path: path})
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	sent := 0
	for deadline := time.Now().Add(2 * time.Minute); sizeOf(t, path) > 10_000_000; <-tick.C {
		if _, err := e.Send(t.Context(), "jobs", queue.SendInput{Body: []byte("small")}); err != nil {
			t.Fatal(err)
		}
		sent++
		if time.Now().After(deadline) {
			t.Fatalf("the file had %d bytes and has %d", full, sizeOf(t, path))
		}
	}
	if full < 20_000_000 || sizeOf(t, path) < 7_000_000 {
		t.Errorf("the file had %d bytes and has %d: some has to stay for the messages to come", full, sizeOf(t, path))
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if found := askSQL(t, path, "PRAGMA integrity_check"); found != "ok" {
		t.Errorf("the file is damaged: %s", found)
	}
	if found := askSQL(t, path, "SELECT count(*) || '' FROM queue_messages"); found == "0" || sent == 0 {
		t.Errorf("%d were sent beside it, and %s are there", sent, found)
	}
}

// A file of an earlier version stays as large as it is, until it is built anew as
// docs/queue.md says.
func TestAnOldFileShrinksOnceItIsBuiltAnew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bezoar.db")
	execSQL(t, path, "PRAGMA application_id = 0x627a6f72")
	if err := open(t, sqlite.Config{Path: path}).Close(); err != nil {
		t.Fatal(err)
	}
	if mode := askSQL(t, path, "PRAGMA auto_vacuum"); mode != "0" {
		t.Fatalf("the old file has auto_vacuum %s", mode)
	}
	execSQL(t, path, "PRAGMA auto_vacuum = INCREMENTAL; VACUUM;")
	db := open(t, sqlite.Config{Path: path})
	if _, err := db.Queue().Queues(t.Context(), queue.ListQuery{Limit: 1}); err != nil {
		t.Error(err)
	}
	if mode := askSQL(t, path, "PRAGMA auto_vacuum"); mode != "2" {
		t.Errorf("the new one has auto_vacuum %s", mode)
	}
}

func askSQL(t *testing.T, path, query string) (answer string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRowContext(t.Context(), query).Scan(&answer); err != nil {
		t.Fatal(err)
	}
	return answer
}
