package sqlite_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/store/sqlite"
)

func TestInspectSeesTheOwnerAndTheSchema(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	look := func() sqlite.Inspection {
		t.Helper()
		found, err := sqlite.Inspect(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if found := look(); found.Exists || found.Knows < 1 {
		t.Errorf("before the first start: %+v", found)
	}
	if left, _ := filepath.Glob(path + "*"); len(left) > 0 {
		t.Errorf("a look has made %v", left)
	}
	db, err := sqlite.Open(t.Context(), sqlite.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if found := look(); !found.Held || found.Owner != os.Getpid() || found.Has != found.Knows {
		t.Errorf("while it is open: %+v", found)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if found := look(); !found.Exists || found.Held || found.Log != 0 || found.Has != found.Knows {
		t.Errorf("when it is closed: %+v", found)
	}
	if err := os.WriteFile(path+"-wal", make([]byte, 99), 0o600); err != nil {
		t.Fatal(err)
	}
	if found := look(); found.Log != 99 {
		t.Errorf("with a log that was left: %+v", found)
	}
	if log, err := os.Stat(path + "-wal"); err != nil || log.Size() != 99 {
		t.Errorf("a look has changed the log: %v", err)
	}
}
