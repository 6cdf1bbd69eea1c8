package gateway

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/guard"
)

// startRecorder makes one whose Run ends with stop, which then has all in the file.
func startRecorder(t *testing.T, cfg GuardRecorderConfig) (r *GuardRecorder, stop func()) {
	t.Helper()
	r, err := NewGuardRecorder(cfg)
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

// recorded waits until so many queries are written or dropped: each is handed
// over once its answer has gone.
func recorded(t *testing.T, r *GuardRecorder, n int64) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); ; <-tick.C {
		s := r.Stats()
		if s.Recorded+s.Dropped >= n {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%+v, want %d", s, n)
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

// TestGuardRecords has queries written down as they came, with how long they
// took, so that they can be judged again.
func TestGuardRecords(t *testing.T) {
	file := filepath.Join(t.TempDir(), "queries.ndjson")
	r, stop := startRecorder(t, GuardRecorderConfig{File: file})
	const limits = `
rules: [{predictor: result_window, limit: 100, action: cap}]
classes: {batch: {match: {header: ["X-Team: night"]}}}
`
	f, _ := guarded(t, &Guard{Guard: newGuard(t, limits), Kind: guard.Elasticsearch, Record: GuardRecord{Recorder: r}}, Config{})
	c := dial(t, f.addr)
	const long = `{"size": 500, "query": {"match": {"t": "ä\u0000\"x"}}}`
	for _, q := range []struct{ target, body, field string }{
		{"/a%20b/_search?preference=x%26y", cheap, "X-Opaque-Id: dash"},
		{"/idx/_search", costly, "Authorization: Basic YW5uOnNlY3JldA=="},
		{"/idx/_search", long, "X-Team: night"},
		{"/idx/_bulk", "{}", "X-Opaque-Id: dash"}, // no query
	} {
		c.post(q.target, q.body, q.field)
	}
	c.post("/idx/_search", "\xff\xfe", "X-Opaque-Id: dash") // no text
	recorded(t, r, 4)
	stop()
	got := recordedIn(t, file)
	if len(got) != 3 || r.Stats() != (GuardRecorderStats{Recorded: 3, Dropped: 1}) {
		t.Fatalf("%d records, %+v", len(got), r.Stats())
	}
	if q := got[0].Query; q.Kind != guard.Elasticsearch || q.Method != "POST" || q.Path != "/a b/_search" || q.RawQuery != "preference=x%26y" ||
		string(q.Body) != cheap || q.ContentType != "application/json" || q.Caller != "dash" || q.Class != "" || got[0].Caller.OpaqueID != "dash" || got[0].Took <= 0 {
		t.Errorf("%+v", got[0])
	}
	if rec := got[1]; string(rec.Query.Body) != costly || rec.Caller.User != "ann" || rec.Took != 0 {
		t.Errorf("one that was rejected: %+v", rec)
	}
	if q := got[2].Query; string(q.Body) != long || q.Class != "batch" {
		t.Errorf("one that was capped: %+v", q)
	}
	text, err := os.ReadFile(file)
	if err != nil || strings.Contains(string(text), "secret") || strings.Contains(string(text), "YW5u") {
		t.Errorf("a password is in the file: %v", err)
	}
	if i, err := os.Stat(file); err != nil || i.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", i.Mode(), err)
	}
}

// TestGuardRecordsTexts has those within a request recorded one by one.
func TestGuardRecordsTexts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "queries.ndjson")
	r, stop := startRecorder(t, GuardRecorderConfig{File: file})
	f, _ := guarded(t, &Guard{Guard: newGuard(t, ""), Kind: guard.SQL, Dialect: "mysql", Statement: []string{"json:$.sql[*]"}, Record: GuardRecord{Recorder: r}}, Config{})
	dial(t, f.addr).post("/run", `{"sql": ["SELECT 1", "DELETE FROM t"]}`)
	recorded(t, r, 2)
	stop()
	got := recordedIn(t, file)
	if len(got) != 2 || string(got[0].Query.Body) != "SELECT 1" || string(got[1].Query.Body) != "DELETE FROM t" || got[1].Query.Dialect != "mysql" {
		t.Errorf("%+v", got)
	}
}

func TestGuardRecordSample(t *testing.T) {
	r, err := NewGuardRecorder(GuardRecorderConfig{File: "x"})
	if err != nil {
		t.Fatal(err)
	}
	g := &Guard{Guard: newGuard(t, ""), Record: GuardRecord{Recorder: r, Sample: 0.2}}
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

// TestGuardRecorderIsBounded: by size on the disk, and by what waits.
func TestGuardRecorderIsBounded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "q")
	if err := os.WriteFile(file, []byte("{\"sql\":\"old\"}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := NewGuardRecorder(GuardRecorderConfig{File: file, MaxBytes: 1000})
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

// TestGuardRecorderWithoutPlace: what cannot be written is counted, and Run goes
// on.
func TestGuardRecorderWithoutPlace(t *testing.T) {
	r, stop := startRecorder(t, GuardRecorderConfig{File: filepath.Join(t.TempDir(), "missing", "q")})
	for range 3 {
		r.record(&recordedQuery{Kind: guard.SQL, Body: "SELECT 1"})
	}
	stop()
	if r.Stats() != (GuardRecorderStats{Dropped: 3}) {
		t.Errorf("%+v", r.Stats())
	}
	for _, cfg := range []GuardRecorderConfig{{}, {File: "x", MaxBytes: -1}} {
		if _, err := NewGuardRecorder(cfg); err == nil {
			t.Errorf("%+v was taken", cfg)
		}
	}
}

// TestGuardRecorderAfterHalfALine: what comes behind it can be read.
func TestGuardRecorderAfterHalfALine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "q")
	if err := os.WriteFile(file, []byte("{\"kind\":\"sql\",\"body\":\"SEL"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, stop := startRecorder(t, GuardRecorderConfig{File: file})
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
