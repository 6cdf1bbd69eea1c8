package store_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/store"
)

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for at, file := range map[string]string{
		"sqlite:bezoar.db": "bezoar.db",
		"sqlite:" + filepath.Join(dir, "absolute.db"):       "absolute.db",
		"sqlite://" + filepath.Join(dir, "with-slashes.db"): "with-slashes.db",
		"sqlite:odd:name.db":                                "odd:name.db",
		"memory:":                                           "",
	} {
		stores, err := store.Open(t.Context(), at, store.Config{MaxLetters: 1})
		if err != nil {
			t.Fatal(err)
		}
		for id := range 2 {
			l := bezoar.Letter{ID: string(rune('a' + id)), Fleet: "store_test", Fingerprint: bezoar.Fingerprint{byte(id + 1)}}
			if _, err := stores.Ledger.PutLetter(t.Context(), l); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := stores.Ledger.Letter(t.Context(), "a"); err == nil {
			t.Errorf("%s: MaxLetters did not arrive", at)
		}
		if err := stores.Close(); err != nil {
			t.Error(err)
		}
		if file != "" {
			if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
				t.Errorf("%s: %v", at, err)
			}
		}
	}
}

// What a real server does is tested where the postgres store is.
func TestOpenPostgresConnects(t *testing.T) {
	const at = "postgres://u:hunter2@127.0.0.1:1/db" // nobody listens there
	_, err := store.Open(t.Context(), at, store.Config{})
	if err == nil || !strings.Contains(err.Error(), "cannot be reached") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("Open = %v", err)
	}
}

func TestFaults(t *testing.T) {
	for at, say := range map[string][]string{
		"":                             {"sqlite:", "postgres://", "memory:"},
		"bezoar.db":                    {"sqlite:", "postgres://", "memory:"},
		"redis://h":                    {`"redis"`, "sqlite:", "postgres://", "memory:"},
		"sqlite:":                      {"sqlite", "Path", "bezoar.db"},
		"sqlite::memory:":              {"memory store"},
		"sqlite:bezoar.db?mode=ro":     {"?options"},
		"memory:here":                  {"memory:"},
		"postgres://u:hunter2%zz@h/db": {"URL", "percent-encoded"},
	} {
		err := store.Check(at, store.Config{})
		if err == nil {
			t.Errorf("%q was accepted", at)
			continue
		}
		for _, s := range say {
			if !strings.Contains(err.Error(), s) {
				t.Errorf("%q: %q does not mention %q", at, err, s)
			}
		}
		if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q shows the password", err)
		}
		if _, opened := store.Open(t.Context(), at, store.Config{}); opened == nil || opened.Error() != err.Error() {
			t.Errorf("Open(%q) = %v, Check says %v", at, opened, err)
		}
	}
	if err := store.Check("memory:", store.Config{MaxLetters: -1}); err == nil || !strings.Contains(err.Error(), "MaxLetters") {
		t.Errorf("Check = %v, want a fault of MaxLetters", err)
	}
	if err := store.Check("postgres://u:p@h/db", store.Config{}); err != nil {
		t.Errorf("Check connected? %v", err)
	}
}
