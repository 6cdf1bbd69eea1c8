package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/store/sqlite"
	"github.com/bezoar-dev/bezoar/queue"
)

// What happens to the file under a running store is noticed before anything else
// is acknowledged.
func TestAFileThatIsLostAcknowledgesNothing(t *testing.T) {
	t.Parallel()
	for what, do := range map[string]func(path string) error{
		"deleted":     os.Remove,
		"log deleted": func(path string) error { return os.Remove(path + "-wal") },
		"emptied":     func(path string) error { return os.Truncate(path, 0) },
		"replaced": func(path string) error {
			return errors.Join(os.WriteFile(path+".new", []byte("other"), 0o600), os.Rename(path+".new", path))
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "bezoar.db")
			db := reopen(t, sqlite.Config{Path: path})
			e, err := queue.New(queue.Config{}, db.Queue())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := e.CreateQueue(t.Context(), "jobs", queue.DefaultSettings(), nil); err != nil {
				t.Fatal(err)
			}
			send := func() error {
				_, err := e.Send(t.Context(), "jobs", queue.SendInput{Body: []byte("a message")})
				return err
			}
			if err := errors.Join(send(), db.Check(t.Context())); err != nil {
				t.Fatal(err)
			}
			if err := do(path); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if err := send(); !errors.Is(err, sqlite.ErrLost) || !strings.Contains(err.Error(), "restore a backup") {
					t.Errorf("a send said %v", err)
				}
			}
			if m, err := e.Receive(t.Context(), "jobs", queue.ReceiveInput{}); !errors.Is(err, sqlite.ErrLost) {
				t.Errorf("a receive got %v, %v", m, err)
			}
			if err := db.Check(t.Context()); !errors.Is(err, sqlite.ErrLost) {
				t.Errorf("the check says %v", err)
			}
		})
	}
}

func TestNamesOfTheFile(t *testing.T) {
	t.Parallel()
	t.Run("a lock that is a link", func(t *testing.T) {
		dir := t.TempDir()
		path, victim := filepath.Join(dir, "bezoar.db"), filepath.Join(dir, "victim")
		write(t, victim, []byte("precious"))
		for _, link := range []func(string, string) error{os.Symlink, os.Link} {
			if err := link(victim, path+"-lock"); err != nil {
				t.Fatal(err)
			}
			openFails(t, path, "-lock", "remove")
			if got, err := os.ReadFile(victim); err != nil || string(got) != "precious" {
				t.Errorf("the file that the lock links to has %q, %v", got, err)
			}
			if err := os.Remove(path + "-lock"); err != nil {
				t.Fatal(err)
			}
		}
	})
	path := filepath.Join(t.TempDir(), "bezoar.db")
	db := reopen(t, sqlite.Config{Path: path})
	t.Run("a symbolic link", func(t *testing.T) {
		link := filepath.Join(t.TempDir(), "link.db")
		if err := os.Symlink(path, link); err != nil {
			t.Fatal(err)
		}
		_, err := sqlite.Open(t.Context(), sqlite.Config{Path: link, LockWait: 1})
		if !errors.Is(err, sqlite.ErrInUse) {
			t.Errorf("by a symbolic link the file is opened twice: %v", err)
		}
		if err := errors.Join(os.Remove(link), os.Symlink(path+"-nothing", link)); err != nil {
			t.Fatal(err)
		}
		openFails(t, link, "symbolic link to a missing file")
	})
	t.Run("a hard link", func(t *testing.T) {
		if err := errors.Join(db.Close(), os.Link(path, path+".copy")); err != nil {
			t.Fatal(err)
		}
		openFails(t, path, "2 names")
		openFails(t, path+".copy", "2 names")
		if err := os.Remove(path + ".copy"); err != nil {
			t.Fatal(err)
		}
		open(t, sqlite.Config{Path: path})
	})
}
