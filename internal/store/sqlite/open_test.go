package sqlite_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/store/sqlite"
)

// openFails opens path and wants an error that says all of say.
func openFails(t *testing.T, path string, say ...string) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Config{Path: path})
	if err == nil {
		t.Fatalf("Open succeeded; close: %v", db.Close())
	}
	for _, s := range append(say, path) {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("%q does not mention %q", err, s)
		}
	}
}

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func execSQL(t *testing.T, path, query string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), query); err != nil {
		t.Fatal(err)
	}
}

func TestOpenExplains(t *testing.T) {
	t.Run("no folder", func(t *testing.T) {
		openFails(t, filepath.Join(t.TempDir(), "nowhere", "bezoar.db"), "does not exist", "create it")
	})
	t.Run("a folder", func(t *testing.T) { openFails(t, t.TempDir(), "not a regular file") })
	t.Run("below a file", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		write(t, file, nil)
		openFails(t, filepath.Join(file, "bezoar.db"), "not a directory")
	})
	t.Run("not a database", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "bezoar.db")
		content := []byte(strings.Repeat("store: sqlite:bezoar.db\n", 100))
		write(t, path, content)
		openFails(t, path, "not a SQLite database", "move it away")
		if got, err := os.ReadFile(path); err != nil || string(got) != string(content) {
			t.Errorf("the file was touched: %v", err)
		}
	})
	t.Run("a short file", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "bezoar.db")
		write(t, path, []byte("hello"))
		openFails(t, path, "not a SQLite database")
	})
	t.Run("another program's database", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "bezoar.db")
		execSQL(t, path, "CREATE TABLE songs (title TEXT)")
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		openFails(t, path, "another program's database")
		if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
			t.Errorf("the file was touched: %v", err)
		}
	})
	t.Run("a newer schema", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "bezoar.db")
		if err := open(t, sqlite.Config{Path: path}).Close(); err != nil {
			t.Fatal(err)
		}
		execSQL(t, path, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (4711, 1)")
		openFails(t, path, "schema version 4711", "run the newer bezoar")
	})
	t.Run("a damaged database", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "bezoar.db")
		if err := open(t, sqlite.Config{Path: path}).Close(); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := 100; i < len(content); i++ { // all but the header
			content[i] = 0xa5
		}
		write(t, path, content)
		openFails(t, path, "damaged", ".recover")
	})
}

func TestOpenedFile(t *testing.T) {
	// Characters that mean something in URIs and in SQL do not here.
	path := filepath.Join(t.TempDir(), "a b?_pragma=x#%41;'ü.db")
	open(t, sqlite.Config{Path: path})
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); mode != 0o600 {
		t.Errorf("the file has mode %o; payloads are nobody else's business", mode)
	}
}

func TestConfigNamesEveryFault(t *testing.T) {
	_, err := sqlite.Open(t.Context(), sqlite.Config{MaxLetters: -1, Readers: 65, LockWait: -1})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, field := range []string{"Path", "MaxLetters", "Readers", "LockWait"} {
		if !strings.Contains(err.Error(), field+":") {
			t.Errorf("%q does not name %s", err, field)
		}
	}
	if err := (sqlite.Config{Path: "file::memory:"}).Validate(); err == nil {
		t.Error("a store of memory was accepted as a file")
	}
}
