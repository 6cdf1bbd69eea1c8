package facts

import (
	"bytes"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// logged is a log that can be read while it is written.
type logged struct {
	mu  sync.Mutex // guards buf
	buf bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func (l *logged) has(t *testing.T, text string, n int) {
	t.Helper()
	if got := strings.Count(l.String(), text); got != n {
		t.Errorf("the log says %q %d times, want %d:\n%s", text, got, n, l)
	}
}

const (
	standing = "keeps the lock"
	shared   = "are shared again"
)

// impatient opens a fact store that waits for others as long as it says.
func impatient(t *testing.T, path string, wait time.Duration) (*Store, *logged) {
	t.Helper()
	log := &logged{}
	s, err := Open(Config{Path: path, Log: slog.New(slog.NewTextHandler(log, nil)), Wait: wait})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, log
}

// stop makes a store stand still in a transaction that has put x = 1, as a process
// does that was stopped there, until the returned function is called.
func stop(t *testing.T, s *Store) (goOn func()) {
	t.Helper()
	in, out, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- s.Update(func(tx *Tx) error {
			close(in)
			<-out
			return tx.Put("x", 1)
		})
	}()
	<-in
	goOn = sync.OnceFunc(func() {
		close(out)
		if err := <-ended; err != nil {
			t.Errorf("the one that stood still: %v", err)
		}
	})
	t.Cleanup(goOn)
	return goOn
}

// Whoever stands still with the lock holds nobody up: the others go on with what
// they know, say so once, and write what they found out when the lock is free.
func TestOneThatStandsStill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "facts")
	still, _ := impatient(t, path, time.Minute)
	a, log := impatient(t, path, 30*time.Millisecond)
	put(t, a, "known", 7)
	put(t, a, "gone", 7)
	goOn := stop(t, still)

	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() { put(t, a, fmt.Sprint("a", i), i) })
	}
	all.Wait()
	put(t, a, "x", 2)
	if err := a.Update(func(tx *Tx) error { tx.Drop("gone"); return nil }); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		if n, ok := get(t, a, fmt.Sprint("a", i)); !ok || n != i {
			t.Errorf("a%d is %d, %v: what is not written yet is not known", i, n, ok)
		}
	}
	if n, _ := get(t, a, "known"); n != 7 {
		t.Errorf("known is %d, want 7", n)
	}
	if _, ok := get(t, a, "gone"); ok {
		t.Error("what was dropped is still known")
	}
	if err := a.View(func(tx *Tx) error {
		n := 0
		for range tx.All("") {
			n++
		}
		if n != 22 || tx.Len() != 22 { // a0 to a19, known, x
			t.Errorf("%d facts are listed, and %d counted, want 22", n, tx.Len())
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	log.has(t, standing, 1)

	late, lateLog := impatient(t, path, 30*time.Millisecond) // who comes now starts nevertheless
	if n, _ := get(t, late, "known"); n != 7 {
		t.Errorf("who comes late knows %d, want 7", n)
	}
	lateLog.has(t, standing, 1)

	goOn()
	put(t, a, "last", 1)
	log.has(t, shared, 1)
	b, _ := impatient(t, path, time.Minute)
	for key, want := range map[string]int{"a0": 0, "a19": 19, "known": 7, "last": 1, "x": 1} { // x was theirs first
		if n, ok := get(t, b, key); !ok || n != want {
			t.Errorf("%s is %d, %v, want %d", key, n, ok, want)
		}
	}
	if _, ok := get(t, b, "gone"); ok {
		t.Error("what was dropped is still there")
	}
	if n, _ := get(t, a, "x"); n != 1 {
		t.Errorf("x is %d for the one that was ahead, want 1: what others wrote first stays", n)
	}
	put(t, a, "x", 3)
	log.has(t, standing, 1)
}

// What is ahead of the file gets there without another Update: with a look, or at
// the end.
func TestCatchingUp(t *testing.T) {
	for name, then := range map[string]func(t *testing.T, s *Store){
		"view": func(t *testing.T, s *Store) {
			s.mu.Lock()
			s.ahead.tried = time.Now().Add(-lookAgain)
			s.mu.Unlock()
			get(t, s, "y")
		},
		"close": func(t *testing.T, s *Store) {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "facts")
			still, _ := impatient(t, path, time.Minute)
			s, log := impatient(t, path, time.Millisecond)
			goOn := stop(t, still)
			put(t, s, "y", 5)
			goOn()
			then(t, s)
			log.has(t, shared, 1)
			if n, _ := get(t, still, "y"); n != 5 {
				t.Errorf("y is %d for others, want 5", n)
			}
		})
	}
}

// An Update that waits holds nothing that others need.
func TestViewsDoNotWait(t *testing.T) {
	path := filepath.Join(t.TempDir(), "facts")
	still, _ := impatient(t, path, time.Minute)
	s, _ := impatient(t, path, time.Minute)
	put(t, s, "y", 5)
	goOn := stop(t, still)
	waits := make(chan struct{})
	go func() {
		defer close(waits)
		put(t, s, "y", 6)
	}()
	for len(s.lock.turn) == 0 { // until it asks for the lock
		runtime.Gosched()
	}
	if n, _ := get(t, s, "y"); n != 5 {
		t.Errorf("y is %d, want 5", n)
	}
	goOn()
	<-waits
	if n, _ := get(t, s, "y"); n != 6 {
		t.Errorf("y is %d, want 6", n)
	}
}
