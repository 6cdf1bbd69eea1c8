package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/control/live"
	"github.com/bezoar-dev/bezoar/internal/test/golden"
)

func sampleGuard() adminapi.Guard {
	return adminapi.Guard{
		Route: "/*", Fleet: "es", Kind: guard.Elasticsearch, Version: 7, ReportOnly: true, Dial: 0.5, Load: 0.314, Limits: "limits.yaml", HintsFile: "hints.yaml",
		Hints:   []guard.HintSource{{Source: "file", At: noon().Add(-26 * time.Hour), Indices: 1, Fields: 12}, {Source: "backend", At: noon().Add(-90 * time.Second), Indices: 2, Fields: 1}},
		Poll:    &adminapi.GuardPoll{Failures: 3, Error: "401 \x1b[31mno\n"},
		Faults:  []adminapi.GuardFault{{File: "limits.yaml", Error: "limits.yaml:1:2: rules\x1b[2J", Since: noon().Add(-time.Minute)}},
		Total:   guard.Tally{Checked: 120, Accepted: 100, Capped: 5, Reported: 5, Rejected: 10, Cost: 4031.4},
		Judging: guard.Judging{Queries: 120, Took: 1500 * time.Microsecond}, Slow: 2,
		Callers: []guard.CallerStats{
			{
				Caller: "grafana-\x1b[31mowned\u202e\n", Class: "panels", Tally: guard.Tally{Checked: 100, Rejected: 10, Cost: 4000}, Worst: "000000000000abcd",
				Rules:  map[string]int64{"agg_product": 10, "result_window": 3, "fetch": 1, "shards": 1},
				Shapes: []guard.CallerShape{{Shape: "000000000000abcd", Queries: 10, Rejected: 10, Cost: 3990, MaxCost: 399}},
			},
			{Caller: "", Tally: guard.Tally{Checked: 20, Accepted: 20, Cost: 31.4}, Worst: "0000000000001234"},
		},
		Shapes: []adminapi.GuardShape{
			{
				ShapeStats: guard.ShapeStats{
					Shape: "000000000000abcd", Tally: guard.Tally{Checked: 10, Rejected: 9}, MaxCost: 399, Mostly: "agg_product",
					Predictor: "agg_product", Path: "$.aggs.\x1b[31ma", Action: guard.Reject, Rule: "limits.yaml:4:5", Observed: 1, Took: 3 * time.Second, MaxTook: 3 * time.Second, Bytes: 1234, Deaths: 1,
				},
				Verdict: "q-0000000000a1", State: bezoar.Quarantined,
			},
			{ShapeStats: guard.ShapeStats{Shape: "0000000000001234", Query: "{\"size\": 20, \"query\": {\"term\": {\"user\": \"xqw\\x1b[31m\"}}}", Tally: guard.Tally{Checked: 20, Accepted: 20}, MaxCost: 1.57, Observed: 20, Took: 20 * time.Millisecond, MaxTook: 1234 * time.Microsecond, Bytes: 20}},
		},
	}
}

func TestGuardTopReport(t *testing.T) {
	overrides := []live.Override{
		{ID: "ov-1", What: live.Guard, Factor: 0.5, Class: "panels", Until: noon().Add(time.Hour), By: "ann"},
		{ID: "ov-2", What: live.GuardLimit, Predictor: "agg_product", Value: "5000 report", Index: "logs-*", Route: "/*", Until: noon().Add(time.Hour), By: "ann"},
		{ID: "ov-3", What: live.GuardReport, Route: "/elsewhere", Until: noon(), By: "ann"},
		{ID: "ov-4", What: live.Rate, Factor: 0.1, Until: noon(), By: "ann"},
	}
	for name, p := range map[string]*printer{"guardtop": {}, "guardtop-100-colour": {width: func() int { return 100 }, color: true}} {
		var b bytes.Buffer
		p.w = &b
		g := sampleGuard()
		writeGuard(p, &g, overrides, noon(), name == "guardtop")
		golden.Equal(t, name+".txt", b.Bytes())
		plain := strings.NewReplacer("\x1b[0m", "", "\x1b[1m", "", "\x1b[2m", "", "\x1b["+red+"m", "", "\x1b["+yellow+"m", "").Replace(b.String())
		if strings.ContainsAny(plain, "\x1b\u202e") {
			t.Errorf("a caller's control characters reach the terminal: %q", plain)
		}
	}
}

// With --watch it asks until it is interrupted, here after the third answer.
func TestGuardTopWatches(t *testing.T) {
	asked := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked++; asked > 3 {
			adminapi.NewProblem(http.StatusForbidden, adminapi.CodeForbidden, "enough").Write(w)
			return
		}
		if r.URL.RawQuery != "limit=7" {
			t.Errorf("asked %s", r.URL.RawQuery)
		}
		answer(w, adminapi.Guards{Guards: []adminapi.Guard{sampleGuard()}})
	}))
	defer srv.Close()
	var out, errs bytes.Buffer
	code := Main(t.Context(), Process{
		Args:   []string{"guard", "top", "-n", "7", "-w", "--every", "100ms", "--json", "--admin", srv.Listener.Addr().String()},
		Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" },
	})
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if code != exitNotAllowed || len(lines) != 3 {
		t.Fatalf("exit code %d, %d lines\n%s", code, len(lines), errs.String())
	}
	var got adminapi.Guards
	if err := json.Unmarshal([]byte(lines[2]), &got); err != nil || got.Guards[0].Total.Rejected != 10 {
		t.Errorf("%v %+v", err, got)
	}
}

// A batch whose answers nobody reads any more ends without a word.
func TestABatchEndsWithItsReader(t *testing.T) {
	var errs bytes.Buffer
	code := Main(t.Context(), Process{
		Args:  []string{"guard", "check", "--batch", "-"},
		Stdin: strings.NewReader(strings.Repeat(`{"sql": "select 1"}`+"\n", 10_000)), Stdout: brokenPipe{}, Stderr: &errs, Getenv: func(string) string { return "" },
	})
	if code != exitOK || errs.Len() > 0 {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
}

type brokenPipe struct{}

// Write fails as to a pipe whose reader has gone.
func (brokenPipe) Write([]byte) (int, error) { return 0, syscall.EPIPE }

// Whoever feeds lines one by one gets each answer at once.
func TestABatchAnswersLineByLine(t *testing.T) {
	in, feed := io.Pipe()
	answers, out := io.Pipe()
	done := make(chan int, 1)
	go func() {
		code := Main(t.Context(), Process{
			Args: []string{"guard", "check", "--batch", "-"}, Stdin: in, Stdout: out, Stderr: io.Discard, Getenv: func(string) string { return "" },
		})
		_ = out.Close() // a pipe's never fails
		done <- code
	}()
	lines := bufio.NewScanner(answers)
	for i := range 3 {
		if _, err := fmt.Fprintf(feed, `{"id": %d, "sql": "select 1"}`+"\n", i); err != nil {
			t.Fatal(err)
		}
		if !lines.Scan() || !strings.HasPrefix(lines.Text(), fmt.Sprintf(`{"id":%d,"verdict":"accept"`, i)) {
			t.Fatalf("answer %d is %q", i, lines.Text())
		}
	}
	if err := feed.Close(); err != nil {
		t.Fatal(err)
	}
	if code := <-done; code != exitOK {
		t.Errorf("exit code %d", code)
	}
}

// Answers have the order of the lines, however long each takes, and long lines
// wait for their turn.
func TestABatchKeepsItsOrder(t *testing.T) {
	var in strings.Builder
	const n = 3000
	for i := range n {
		body := "select 1"
		switch {
		case i >= 7 && i < 10: // together more than are held at one time
			body = "select '" + strings.Repeat("x", 6<<20) + "'"
		case i%3 == 0:
			body = "select " + strings.Repeat("a, ", i%200) + "b from t where c = 1"
		}
		fmt.Fprintf(&in, `{"id":%d,"sql":"%s"}`+"\n", i, body)
	}
	var out bytes.Buffer
	if code := Main(t.Context(), Process{
		Args: []string{"guard", "check", "--batch", "-"}, Stdin: strings.NewReader(in.String()), Stdout: &out, Stderr: io.Discard, Getenv: func(string) string { return "" },
	}); code != exitOK {
		t.Fatalf("exit code %d", code)
	}
	i := 0
	for line := range strings.Lines(out.String()) {
		if !strings.HasPrefix(line, fmt.Sprintf(`{"id":%d,`, i)) {
			t.Fatalf("line %d is %.60s", i, line)
		}
		i++
	}
	if i != n {
		t.Errorf("%d answers", i)
	}
}
