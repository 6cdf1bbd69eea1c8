package gateway

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/internal/guardfront"
)

// startRecorder makes one whose Run ends with stop, which then has all in the file.
func startRecorder(t *testing.T, cfg guardfront.RecorderConfig) (r *guardfront.Recorder, stop func()) {
	t.Helper()
	r, err := guardfront.NewRecorder(cfg)
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
func recorded(t *testing.T, r *guardfront.Recorder, n int64) {
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
	r, stop := startRecorder(t, guardfront.RecorderConfig{File: file})
	const limits = `
rules: [{predictor: result_window, limit: 100, action: cap}]
classes: {batch: {match: {header: ["X-Team: night"]}}}
`
	f, _ := guarded(t, &guardfront.Guard{Guard: newGuard(t, limits), Kind: guard.Elasticsearch, Record: guardfront.Record{Recorder: r}}, Config{})
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
	if len(got) != 3 || r.Stats() != (guardfront.Stats{Recorded: 3, Dropped: 1}) {
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
	r, stop := startRecorder(t, guardfront.RecorderConfig{File: file})
	f, _ := guarded(t, &guardfront.Guard{Guard: newGuard(t, ""), Kind: guard.SQL, Dialect: "mysql", Statement: []string{"json:$.sql[*]"}, Record: guardfront.Record{Recorder: r}}, Config{})
	dial(t, f.addr).post("/run", `{"sql": ["SELECT 1", "DELETE FROM t"]}`)
	recorded(t, r, 2)
	stop()
	got := recordedIn(t, file)
	if len(got) != 2 || string(got[0].Query.Body) != "SELECT 1" || string(got[1].Query.Body) != "DELETE FROM t" || got[1].Query.Dialect != "mysql" {
		t.Errorf("%+v", got)
	}
}
