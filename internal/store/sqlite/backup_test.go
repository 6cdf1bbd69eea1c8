package sqlite_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/store/sqlite"
	"github.com/bezoar-dev/bezoar/queue"
)

// filled is a store in use with messages of about 6 MB, more than one step copies.
func filled(t *testing.T) (path string, e *queue.Engine) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "bezoar.db")
	e, err := queue.New(queue.Config{}, reopen(t, sqlite.Config{Path: path}).Queue())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.CreateQueue(t.Context(), "jobs", queue.DefaultSettings(), nil); err != nil {
		t.Fatal(err)
	}
	body := strings.Repeat("x", 1_000_000)
	for range 6 {
		send(t, e, body)
	}
	return path, e
}

func send(t *testing.T, e *queue.Engine, body string) {
	t.Helper()
	if _, err := e.Send(t.Context(), "jobs", queue.SendInput{Body: []byte(body)}); err != nil {
		t.Fatal(err)
	}
}

// A backup is the store at its beginning, whatever is written while it runs, and
// holds no write up.
func TestABackupIsOneMoment(t *testing.T) {
	path, e := filled(t)
	to := filepath.Join(t.TempDir(), "copy.db")
	var last sqlite.Progress
	steps := 0
	size, err := sqlite.Backup{From: path, To: to, Told: func(p sqlite.Progress) {
		if p.Done < last.Done || p.Done > p.Total {
			t.Errorf("%+v came after %+v", p, last)
		}
		steps, last = steps+1, p
		send(t, e, "meanwhile")
	}}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if steps < 3 || !last.Checking || last.Done != size || size != sizeOf(t, to) || size < 6_000_000 {
		t.Errorf("a copy of %d bytes took %d steps, the last was %+v", size, steps, last)
	}
	copied, err := queue.New(queue.Config{}, open(t, sqlite.Config{Path: to}).Queue())
	if err != nil {
		t.Fatal(err)
	}
	for of, want := range map[*queue.Engine]int{e: 6 + steps, copied: 6} {
		if there, err := of.Peek(t.Context(), "jobs", 0, 100); err != nil || len(there) != want {
			t.Errorf("%d messages are there, %v; want %d", len(there), err, want)
		}
	}
	if info, err := os.Stat(to); err != nil || info.Mode() != 0o600 {
		t.Errorf("the copy has mode %v, %v", info.Mode(), err)
	}
}

// leftovers are the files beside a copy.
func leftovers(t *testing.T, dir string) (names []string) {
	t.Helper()
	found, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		names = append(names, f.Name())
	}
	return names
}

func TestABackupLeavesNothingWhenItEnds(t *testing.T) {
	path, _ := filled(t)
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	_, err := sqlite.Backup{From: path, To: filepath.Join(dir, "copy.db"), Told: func(sqlite.Progress) { cancel() }}.Run(ctx)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the backup that was interrupted says %v", err)
	}
	if names := leftovers(t, dir); len(names) > 0 {
		t.Errorf("it left %q", names)
	}
}

func TestABackupRefuses(t *testing.T) {
	path, _ := filled(t)
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write(t, at("there.db"), []byte("precious"))
	write(t, at("used.db-wal"), []byte("another's"))
	execSQL(t, at("songs.db"), "CREATE TABLE songs (title TEXT)")
	write(t, at("text.db"), []byte(strings.Repeat("store: sqlite:bezoar.db\n", 100)))
	if err := os.Symlink(path, at("link.db")); err != nil {
		t.Fatal(err)
	}
	before := leftovers(t, dir)
	for name, c := range map[string]struct {
		sqlite.Backup
		is  error
		say string
	}{
		"a file that is there":       {sqlite.Backup{To: at("there.db")}, fs.ErrExist, "exists already"},
		"the store":                  {sqlite.Backup{To: path, Replace: true}, fs.ErrExist, "the store itself"},
		"the store's log":            {sqlite.Backup{To: path + "-wal", Replace: true}, fs.ErrExist, "the store itself"},
		"the store by another name":  {sqlite.Backup{To: at("link.db"), Replace: true}, fs.ErrExist, "the store itself"},
		"a folder":                   {sqlite.Backup{To: dir, Replace: true}, fs.ErrExist, "not a regular file"},
		"a name with another's log":  {sqlite.Backup{To: at("used.db")}, fs.ErrExist, "used.db-wal"},
		"no folder":                  {sqlite.Backup{To: at("nowhere/copy.db")}, fs.ErrNotExist, "nowhere"},
		"no store":                   {sqlite.Backup{From: at("none.db"), To: at("copy.db")}, fs.ErrNotExist, "none.db"},
		"another program's database": {sqlite.Backup{From: at("songs.db"), To: at("copy.db")}, nil, "another program's"},
		"no database":                {sqlite.Backup{From: at("text.db"), To: at("copy.db")}, nil, "not a SQLite database"},
		"another store":              {sqlite.Backup{To: at("copy.db"), Mark: "store", Is: []byte(`"mine"`)}, nil, "is not the store that was used"},
	} {
		if c.From == "" {
			c.From = path
		}
		if _, err := c.Run(t.Context()); err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if after := leftovers(t, dir); len(after) != len(before) {
		t.Errorf("%q became %q", before, after)
	}
	if got, err := os.ReadFile(at("there.db")); err != nil || string(got) != "precious" {
		t.Errorf("the file that was there holds %q, %v", got, err)
	}
	if size, err := (sqlite.Backup{From: path, To: at("there.db"), Replace: true}).Run(t.Context()); err != nil || size != sizeOf(t, at("there.db")) {
		t.Errorf("replaced: %d, %v", size, err)
	}
}

// A copy of a damaged store is not said to be good, and replaces no good one.
func TestABackupOfADamagedStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bezoar.db")
	if err := reopen(t, sqlite.Config{Path: path}).Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 4096 * 2; i < 4096*12; i++ { // pages of tables
		file[i] ^= 0x55
	}
	write(t, path, file)
	to := filepath.Join(t.TempDir(), "copy.db")
	write(t, to, []byte("the last good one"))
	if _, err := (sqlite.Backup{From: path, To: to, Replace: true}).Run(t.Context()); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("the copy is %v", err)
	}
	if got, err := os.ReadFile(to); err != nil || string(got) != "the last good one" {
		t.Errorf("the last copy holds %.20q, %v", got, err)
	}
}
