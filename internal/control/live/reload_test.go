package live_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/control/live"
)

func TestReload(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bezoar.yaml")
	write(t, path, "n: 1\n")
	r := node(t, newStore(t), noPoll(path)) // it does not run: nobody else looks
	if err := r.live.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	replace(t, path, "n: 2\n")
	result, err := r.live.Reload(t.Context())
	if err != nil || !result.Changed || result.Version.Number != 2 || r.last() != "2: n: 2 []" {
		t.Errorf("Reload = %+v, %v", result, err)
	}
	boom := errors.New("boom")
	r.fail("n: 3\n", boom)
	replace(t, path, "n: 3\n")
	if result, err = r.live.Reload(t.Context()); !errors.Is(err, boom) || !result.Changed || result.Version.Number != 2 {
		t.Errorf("Reload = %+v, %v", result, err)
	}
	r.fail("n: 3\n", nil)
	if result, err = r.live.Reload(t.Context()); err != nil || result.Changed || result.Version.Number != 3 {
		t.Errorf("Reload = %+v, %v", result, err)
	}
}

// Settings may name other files: what is invalid without them is valid once
// they are there, and a reload finds out, in the file and in a version that
// came from elsewhere.
func TestReloadChecksAgain(t *testing.T) {
	dir := t.TempDir()
	path, key := filepath.Join(dir, "bezoar.yaml"), filepath.Join(dir, "key")
	write(t, path, "n: 1\n")
	s, c := newStore(t), noPoll(path)
	c.Check = func(text []byte) error {
		if _, err := os.Stat(key); err != nil && string(text) != "n: 1\n" {
			return err
		}
		return nil
	}
	r := node(t, s, c)
	if err := r.live.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	reload := func(what string, wantErr error, want string) {
		t.Helper()
		if _, err := r.live.Reload(t.Context()); !errors.Is(err, wantErr) || r.last() != want {
			t.Errorf("%s: Reload = %v; %s runs", what, err, r.last())
		}
	}
	replace(t, path, "n: 2\n")
	reload("without the key", os.ErrNotExist, "1: n: 1 []")
	write(t, key, "x")
	reload("with the key", nil, "2: n: 2 []")

	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	other := node(t, s, live.Config{Node: "other"})
	other.put("n: 3\n")
	reload("without the key", os.ErrNotExist, "2: n: 2 []")
	write(t, key, "x")
	reload("with the key", nil, "3: n: 3 []")
}
