package sqlite_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/store/sqlite"
	"github.com/bezoar-dev/bezoar/queue"
)

// backedUp is a store that was stopped, and a backup of it without its last message.
func backedUp(t *testing.T) (path, backup string) {
	t.Helper()
	dir := t.TempDir()
	path, backup = filepath.Join(dir, "bezoar.db"), filepath.Join(t.TempDir(), "copy.db")
	db, err := sqlite.Open(t.Context(), sqlite.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	e, err := queue.New(queue.Config{}, db.Queue())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.CreateQueue(t.Context(), "jobs", queue.DefaultSettings(), nil); err != nil {
		t.Fatal(err)
	}
	send(t, e, "old")
	if _, err := (sqlite.Backup{From: path, To: backup}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	send(t, e, "new")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return path, backup
}

func bodies(t *testing.T, path string) (all []string) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	e, err := queue.New(queue.Config{}, db.Queue())
	if err != nil {
		t.Fatal(err)
	}
	there, err := e.Peek(t.Context(), "jobs", 0, 100)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	for _, m := range there {
		all = append(all, string(m.Body))
	}
	return all
}

// What comes back is the backup, from a folder that cannot be written to, and the store
// that was there is kept whole.
func TestARestoreBringsTheBackupBack(t *testing.T) {
	path, backup := backedUp(t)
	if err := os.Chmod(filepath.Dir(backup), 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Dir(backup), 0o700) })
	checked := false
	done, err := sqlite.Restore{
		From: backup, To: path, Replace: true, Now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Told: func(p sqlite.Progress) { checked = checked || p.Checking },
	}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if done.Kept != path+".before-20260102T030405Z" || done.Messages != 1 || done.Queues < 1 || done.Bytes != sizeOf(t, backup) || !checked {
		t.Errorf("it says %+v, checked %v", done, checked)
	}
	for of, want := range map[string]string{path: "old", done.Kept: "old new"} {
		if got := strings.Join(bodies(t, of), " "); got != want {
			t.Errorf("%s has %q, want %q", of, got, want)
		}
	}
	if names := strings.Join(leftovers(t, filepath.Dir(path)), " "); strings.Contains(names, ".part") {
		t.Errorf("it left %s", names)
	}
}

func TestARestoreToAnEmptyPlace(t *testing.T) {
	_, backup := backedUp(t)
	to := filepath.Join(t.TempDir(), "bezoar.db")
	if done, err := (sqlite.Restore{From: backup, To: to}).Run(t.Context()); err != nil || done.Kept != "" {
		t.Errorf("%+v, %v", done, err)
	}
	if info, err := os.Stat(to); err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if got := strings.Join(bodies(t, to), " "); got != "old" {
		t.Errorf("it has %q", got)
	}
}

// A store whose log cannot be read any more is kept with its log.
func TestARestoreOverADamagedStore(t *testing.T) {
	path, backup := backedUp(t)
	write(t, path, []byte(strings.Repeat("broken ", 1000)))
	write(t, path+"-wal", []byte("the log"))
	done, err := sqlite.Restore{From: backup, To: path, Replace: true}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if log, err := os.ReadFile(done.Kept + "-wal"); err != nil || string(log) != "the log" {
		t.Errorf("the kept log is %q, %v", log, err)
	}
	if got := strings.Join(bodies(t, path), " "); got != "old" {
		t.Errorf("the store has %q", got)
	}
}

// Whatever is refused leaves the store as it was.
func TestARestoreRefuses(t *testing.T) {
	path, backup := backedUp(t)
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	good, err := os.ReadFile(backup)
	if err != nil {
		t.Fatal(err)
	}
	broken := append([]byte(nil), good...)
	for i := 4096 * 2; i < 4096*12; i++ { // pages of tables
		broken[i] ^= 0x55
	}
	write(t, at("broken.db"), broken)
	write(t, at("newer.db"), good)
	execSQL(t, at("newer.db"), "INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, 1)")
	write(t, at("used.db"), good)
	write(t, at("used.db-wal"), []byte("log"))
	execSQL(t, at("songs.db"), "CREATE TABLE songs (title TEXT)")
	used := at("open.db")
	open(t, sqlite.Config{Path: used})
	for name, c := range map[string]struct {
		sqlite.Restore
		is  error
		say string
	}{
		"a store that is there":      {sqlite.Restore{From: backup}, fs.ErrExist, "there is a store"},
		"a store in use":             {sqlite.Restore{From: backup, To: used, Replace: true}, sqlite.ErrInUse, "pid"},
		"the store itself":           {sqlite.Restore{From: path, Replace: true}, fs.ErrExist, "the store itself"},
		"no backup":                  {sqlite.Restore{From: at("none.db"), Replace: true}, fs.ErrNotExist, "none.db"},
		"a damaged backup":           {sqlite.Restore{From: at("broken.db"), Replace: true}, nil, "broken.db"},
		"a newer backup":             {sqlite.Restore{From: at("newer.db"), Replace: true}, nil, "schema version 999"},
		"a store that was copied":    {sqlite.Restore{From: at("used.db"), Replace: true}, nil, "bezoar backup --store"},
		"another program's database": {sqlite.Restore{From: at("songs.db"), Replace: true}, nil, "another program's"},
		"another store":              {sqlite.Restore{From: backup, Replace: true, Mark: "store", Is: []byte(`"mine"`)}, nil, "is not the store that was used"},
	} {
		if c.To == "" {
			c.To = path
		}
		if _, err := c.Run(t.Context()); err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := (sqlite.Restore{From: backup, To: path, Replace: true, Told: func(sqlite.Progress) { cancel() }}).Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a restore that was interrupted says %v", err)
	}
	if got := strings.Join(bodies(t, path), " "); got != "old new" {
		t.Errorf("the store has %q", got)
	}
	if names := strings.Join(leftovers(t, filepath.Dir(path)), " "); strings.Contains(names, "before-") || strings.Contains(names, ".part") {
		t.Errorf("they left %s", names)
	}
}
