package sqlite_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
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
