package guardfront

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/guard"
)

// startRecorder makes one whose Run ends with stop, which then has all in the file.
func startRecorder(t *testing.T, cfg RecorderConfig) (r *Recorder, stop func()) {
	t.Helper()
	r, err := NewRecorder(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	return r, func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// recordedIn are those of a file.
func recordedIn(t *testing.T, file string) (list []guard.Record) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := guard.Lines(f, func(_ int, line []byte, err error) error {
		rec, fault := guard.ParseRecord(line)
		list = append(list, rec)
		return errors.Join(err, fault)
	}); err != nil {
		t.Fatal(err)
	}
	return list
}

func newGuard(t *testing.T, limits string) *guard.Guard {
	t.Helper()
	l, err := guard.ParseLimits("test.yaml", []byte(limits))
	if err != nil {
		t.Fatal(err)
	}
	g, err := guard.New(guard.Config{Limits: l})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestSample(t *testing.T) {
	r, err := NewRecorder(RecorderConfig{File: "x"})
	if err != nil {
		t.Fatal(err)
	}
	g := &Guard{Guard: newGuard(t, ""), Record: Record{Recorder: r, Sample: 0.2}}
	n := 0
	for range 2000 {
		if g.take(&guard.Query{Kind: guard.SQL}, &guard.Caller{}) != nil {
			n++
		}
	}
	if n < 200 || n > 700 {
		t.Errorf("%d of 2000 at 20%%", n)
	}
}

// TestRecorderIsBounded: by size on the disk, and by what waits.
func TestRecorderIsBounded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "q")
	if err := os.WriteFile(file, []byte("{\"sql\":\"old\"}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := NewRecorder(RecorderConfig{File: file, MaxBytes: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for i := range recordQueue + 50 { // nobody writes yet
		r.record(&recordedQuery{Kind: guard.SQL, Body: fmt.Sprint("SELECT ", i)})
	}
	if r.Stats().Dropped != 50 {
		t.Errorf("%+v", r.Stats())
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Run(done); err != nil {
		t.Fatal(err)
	}
	last := recordedIn(t, file)
	before := recordedIn(t, file+".1")
	if n := len(last) + len(before); n < 8 || n > 40 || string(last[len(last)-1].Query.Body) != fmt.Sprint("SELECT ", recordQueue-1) {
		t.Errorf("%d records are left, the last is %s", n, last[len(last)-1].Query.Body)
	}
	for _, name := range []string{file, file + ".1"} {
		if i, err := os.Stat(name); err != nil || i.Size() > 1000 || i.Mode().Perm() != 0o600 {
			t.Errorf("%v %v", i, err)
		}
	}
	big := strings.Repeat("x", MaxRecordedQuery-1)
	dropped := r.Stats().Dropped
	for range 20 {
		r.record(&recordedQuery{Body: big})
	}
	if n := r.Stats().Dropped - dropped; n < 4 || r.waiting.Load() > recordWaiting {
		t.Errorf("%d were dropped, %d bytes wait", n, r.waiting.Load())
	}
}

// TestRecorderWithoutPlace: what cannot be written is counted, and Run goes
// on.
func TestRecorderWithoutPlace(t *testing.T) {
	r, stop := startRecorder(t, RecorderConfig{File: filepath.Join(t.TempDir(), "missing", "q")})
	for range 3 {
		r.record(&recordedQuery{Kind: guard.SQL, Body: "SELECT 1"})
	}
	stop()
	if r.Stats() != (Stats{Dropped: 3}) {
		t.Errorf("%+v", r.Stats())
	}
	for _, cfg := range []RecorderConfig{{}, {File: "x", MaxBytes: -1}} {
		if _, err := NewRecorder(cfg); err == nil {
			t.Errorf("%+v was taken", cfg)
		}
	}
}

// TestRecorderAfterHalfALine: what comes behind it can be read.
func TestRecorderAfterHalfALine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "q")
	if err := os.WriteFile(file, []byte("{\"kind\":\"sql\",\"body\":\"SEL"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, stop := startRecorder(t, RecorderConfig{File: file})
	r.record(&recordedQuery{Kind: guard.SQL, Body: "SELECT 1"})
	stop()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, second, _ := strings.Cut(string(text), "\n")
	if rec, err := guard.ParseRecord([]byte(second)); err != nil || string(rec.Query.Body) != "SELECT 1" {
		t.Errorf("%s: %v", text, err)
	}
}
