package accesslog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/fingerprint"
)

// lines decodes what a JSON handler has written.
func lines(t *testing.T, b *bytes.Buffer) []map[string]any {
	t.Helper()
	var out []map[string]any
	for d := json.NewDecoder(b); d.More(); {
		var line map[string]any
		if err := d.Decode(&line); err != nil {
			t.Fatal(err)
		}
		out = append(out, line)
	}
	return out
}

func newLog(t *testing.T, b *bytes.Buffer, cfg Config) *Log {
	t.Helper()
	cfg.Log = slog.New(slog.NewJSONHandler(b, nil))
	l, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestALineOfTheAccessLog(t *testing.T) {
	r := Record{
		Time: time.Unix(1_000_000, 0), Duration: 12500 * time.Microsecond, Waited: 2 * time.Millisecond, TTFB: 10 * time.Millisecond,
		Route: "search", Worker: "search-1", Method: "GET", Host: "shop.example", Path: "/reset/T0K3N", Status: 200, BytesIn: 4, BytesOut: 5,
		Attempts: 2, Lane: true, Caller: "alice@example.com", Plan: "gold", RequestID: "r1", TraceID: "abc", SpanID: "def", Cost: 7,
	}
	printer, err := fingerprint.New(fingerprint.Key{1}, fingerprint.Config{})
	if err != nil {
		t.Fatal(err)
	}
	hash := printer.Client(r.Caller).String()
	for _, tc := range []struct {
		name string
		cfg  Config
		edit func(*Record)
		want string
	}{
		{
			"good",
			Config{Printer: printer},
			nil,
			`{"attempts":2,"bytes_in":4,"bytes_out":5,"caller":"` + hash + `","cost":7,"duration_ms":12.5,"lane":true,"level":"INFO","method":"GET",` +
				`"msg":"request","plan":"gold","request":"r1","route":"search","span":"def","status":200,"trace":"abc","ttfb_ms":10,"waited_ms":2,"worker":"search-1"}`,
		},
		{
			"clear, refused",
			Config{Clear: true, Paths: true},
			func(r *Record) {
				*r = Record{Route: "search", Method: "GET", Path: r.Path, Status: 429, Rule: "rate:api", Caller: r.Caller, Fallback: "stale", Cut: true}
			},
			`{"attempts":0,"bytes_in":0,"bytes_out":0,"caller":"alice@example.com","cut":true,"fallback":"stale","level":"WARN","method":"GET","msg":"request",` +
				`"path":"/reset/T0K3N","route":"search","rule":"rate:api","status":429}`,
		},
		{
			"failed, without a printer",
			Config{},
			func(r *Record) { *r = Record{Status: 502, Method: "GET", Caller: r.Caller, Attempts: 1} },
			`{"attempts":1,"bytes_in":0,"bytes_out":0,"level":"ERROR","method":"GET","msg":"request","status":502}`,
		},
		{
			"long",
			Config{Paths: true},
			func(r *Record) { *r = Record{Path: strings.Repeat("x", 10_000)} },
			`{"attempts":0,"bytes_in":0,"bytes_out":0,"level":"INFO","msg":"request","path":"` + strings.Repeat("x", 256) + `","status":0}`,
		},
	} {
		var b bytes.Buffer
		rec := r
		if tc.edit != nil {
			tc.edit(&rec)
		}
		newLog(t, &b, tc.cfg).Observe(&rec)
		got := lines(t, &b)
		if len(got) != 1 {
			t.Fatalf("%s: %d lines", tc.name, len(got))
		}
		delete(got[0], "time")
		text, err := json.Marshal(got[0])
		if err != nil || string(text) != tc.want {
			t.Errorf("%s: %v\n%s, want\n%s", tc.name, err, text, tc.want)
		}
	}
}

func TestGoodRequestsAreSampledAndBadOnesBounded(t *testing.T) {
	var b bytes.Buffer
	l := newLog(t, &b, Config{Every: 10, Rate: 2, Burst: 5})
	now := time.Unix(1_000_000, 0)
	observe := func(status, n int) {
		for range n {
			l.Observe(&Record{Time: now, Status: status})
		}
	}
	observe(200, 95)
	observe(404, 5) // the caller's mistake
	if n := len(lines(t, &b)); n != 10 {
		t.Errorf("%d lines of 100 good requests, want every tenth", n)
	}
	observe(503, 20)
	if n := len(lines(t, &b)); n != 5 {
		t.Errorf("%d lines of 20 failures at once, want 5", n)
	}
	now = now.Add(time.Second)
	observe(503, 20)
	got := lines(t, &b)
	if len(got) != 2 || got[0]["unlogged"] != 15.0 || got[1]["unlogged"] != nil {
		t.Errorf("a second later %v, want two lines of which the first says that 15 were left out", got)
	}
	none := newLog(t, &b, Config{Every: -1})
	none.Observe(&Record{Status: 200})
	none.Observe(&Record{Status: 500})
	if got := lines(t, &b); len(got) != 1 || got[0]["level"] != "ERROR" {
		t.Errorf("without good ones %v", got)
	}
}

func TestAccessLogsNameEveryFault(t *testing.T) {
	_, err := New(Config{Rate: -1, Burst: -2})
	if want := "access log: Log is nil\nRate is -1, want a number of lines a second\nBurst is -2, want 0 or more"; fmt.Sprint(err) != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// BenchmarkLog is what a request costs that is not logged, and one that is.
func BenchmarkLog(b *testing.B) {
	for name, every := range map[string]int{"left out": -1, "logged": 1} {
		b.Run(name, func(b *testing.B) {
			l, err := New(Config{Log: slog.New(slog.NewJSONHandler(nowhere{}, nil)), Every: every})
			if err != nil {
				b.Fatal(err)
			}
			r := Record{Status: 200, Route: "search", Method: "GET", Duration: time.Millisecond, RequestID: "r1", Worker: "w1", Attempts: 1}
			b.ReportAllocs()
			for b.Loop() {
				l.Observe(&r)
			}
		})
	}
}

type nowhere struct{}

func (nowhere) Write(p []byte) (int, error) { return len(p), nil }
