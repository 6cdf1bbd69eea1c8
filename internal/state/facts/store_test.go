package facts

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func open(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(Config{Path: path, Wait: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func put(t *testing.T, s *Store, key string, v any) {
	t.Helper()
	if err := s.Update(func(tx *Tx) error { return tx.Put(key, v) }); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, s *Store, key string) (n int, ok bool) {
	t.Helper()
	err := s.View(func(tx *Tx) (err error) {
		ok, err = tx.Get(key, &n)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n, ok
}

func TestWhatOneWritesTheOtherReads(t *testing.T) {
	path := filepath.Join(t.TempDir(), "facts")
	a, b := open(t, path), open(t, path)
	put(t, a, "x", 1)
	if n, ok := get(t, b, "x"); !ok || n != 1 {
		t.Errorf("b reads %d %v", n, ok)
	}
	if err := b.Update(func(tx *Tx) error { tx.Drop("x"); return tx.Put("y", 2) }); err != nil {
		t.Fatal(err)
	}
	if _, ok := get(t, a, "x"); ok {
		t.Error("x is still there")
	}
	failed := errors.New("no")
	if err := a.Update(func(tx *Tx) error { return errors.Join(tx.Put("y", 3), failed) }); !errors.Is(err, failed) {
		t.Fatal(err)
	}
	if n, _ := get(t, open(t, path), "y"); n != 2 {
		t.Errorf("y is %d, want 2: a transaction that failed leaves nothing", n)
	}
}

// Transactions are one after another, whoever makes them, through rewrites too.
func TestNoUpdateIsLost(t *testing.T) {
	path := filepath.Join(t.TempDir(), "facts")
	const each, stores = 700, 3
	var wg sync.WaitGroup
	for range stores {
		b := open(t, path)
		wg.Go(func() {
			for range each {
				err := b.Update(func(tx *Tx) error {
					n := 0
					if _, err := tx.Get("n", &n); err != nil {
						return err
					}
					return tx.Put("n", n+1)
				})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if n, _ := get(t, open(t, path), "n"); n != each*stores {
		t.Errorf("counted to %d, want %d", n, each*stores)
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() > 40*(slack+2) {
		t.Errorf("the file has %d bytes: it is never written anew (%v)", info.Size(), err)
	}
}

func TestInMemory(t *testing.T) {
	b := InMemory()
	put(t, b, "x", 1)
	if n, ok := get(t, b, "x"); !ok || n != 1 || b.Close() != nil || b.Note() != "" {
		t.Errorf("x is %d %v", n, ok)
	}
}

func TestDamageIsPassedOver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "facts")
	text := `{"k":"a","v":1}` + "\n" + `{"k":"b",` + "\n\x00\x01\n" + strings.Repeat("z", 200_000) + "\n" + `{"k":"c","v":3}` + "\n" + `{"k":"d","v`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	b := open(t, path)
	if !strings.Contains(b.Note(), "3 lines") {
		t.Errorf("note %q", b.Note())
	}
	put(t, b, "e", 5)
	again := open(t, path)
	for key, want := range map[string]int{"a": 1, "c": 3, "e": 5} {
		if n, _ := get(t, again, key); n != want {
			t.Errorf("%s is %d, want %d", key, n, want)
		}
	}
	if _, ok := get(t, again, "d"); ok {
		t.Error("a torn line counts")
	}
}

func TestBounds(t *testing.T) {
	b := open(t, filepath.Join(t.TempDir(), "facts"))
	if err := b.Update(func(tx *Tx) error { return tx.Put("big", strings.Repeat("x", MaxFact)) }); err == nil {
		t.Error("a fact that is too large is kept")
	}
	err := b.Update(func(tx *Tx) error {
		for i := range MaxFacts {
			if err := tx.Put(fmt.Sprint(i), i); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Update(func(tx *Tx) error { return tx.Put("one more", 1) }); !errors.Is(err, ErrFull) {
		t.Errorf("one more: %v", err)
	}
	put(t, b, "7", 8) // what is there may change
	seen := 0
	_ = b.View(func(tx *Tx) error {
		for range tx.All("1") {
			seen++
		}
		return nil
	})
	if seen != 11111 {
		t.Errorf("%d facts begin with 1", seen)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"k":"a","v":1}` + "\n" + `{"k":"a"}` + "\n"))
	f.Add([]byte("\n\n{"))
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), "facts")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		b := open(t, path)
		put(t, b, "new", 7)
		if n, _ := get(t, open(t, path), "new"); n != 7 {
			t.Errorf("what was put behind %q is lost", text)
		}
	})
}
