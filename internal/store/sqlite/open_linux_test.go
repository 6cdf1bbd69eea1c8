package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bezoar-dev/bezoar/internal/store/sqlite"
)

// As somebody who may not write there: files are opened with this thread's
// file-system user, so root can play that role too.
func TestOpenExplainsPermissions(t *testing.T) {
	dir := t.TempDir()
	taken := filepath.Join(dir, "taken.db")
	write(t, taken, nil)
	write(t, taken+"-lock", nil)
	for path, mode := range map[string]os.FileMode{dir: 0o555, taken: 0o444, taken + "-lock": 0o666, filepath.Dir(dir): 0o755} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if err := os.Chmod(dir, 0o700); err != nil { // else it cannot be removed
			t.Error(err)
		}
	})
	if root := os.Geteuid(); root == 0 {
		runtime.LockOSThread() // never unlocked: the thread ends with the test
		if err := unix.Setfsuid(65534); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := unix.Setfsuid(root); err != nil {
				t.Error(err)
			}
		})
	}
	openFails(t, filepath.Join(dir, "new.db"), "may not write in "+dir, "writable")
	openFails(t, taken, "may not write this file")
}

// Who deletes the lock file lets nobody in: the database itself is locked, too.
func TestADeletedLockFileLetsNobodyIn(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "bezoar.db")
	db := reopen(t, sqlite.Config{Path: path})
	for range 2 { // the file that the first one makes is no better
		if err := os.Remove(path + "-lock"); err != nil {
			t.Fatal(err)
		}
		if _, err := sqlite.Open(t.Context(), sqlite.Config{Path: path, LockWait: 1}); !errors.Is(err, sqlite.ErrInUse) || !strings.Contains(err.Error(), "lock file was deleted") {
			t.Errorf("Open = %v, want ErrInUse", err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, sqlite.Config{Path: path})
}

// A child process that is being started holds the locks, too, until its program is
// loaded. That is nobody who uses the file.
func TestACloseGivesUpInheritedLocks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bezoar.db")
	db, err := sqlite.Open(t.Context(), sqlite.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	lock, file := db.Forked()
	for _, fd := range []uintptr{lock, file} {
		copied, err := unix.Dup(int(fd))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := unix.Close(copied); err != nil {
				t.Error(err)
			}
		})
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := sqlite.Open(t.Context(), sqlite.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}
