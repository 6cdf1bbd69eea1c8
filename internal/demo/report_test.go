package demo

import (
	"bytes"
	"encoding/json"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/demo/traffic"
)

func example() Report {
	return Report{
		Without: Half{
			Workers: 8, PillsSent: 17, WorkersLost: 131, GoodSent: 1200, GoodOK: 301,
			InnocentsRefused: 880, P50MS: 3.74, P99MS: 2110.5,
		},
		With: Half{
			Workers: 8, PillsSent: 17, WorkersLost: 2, GoodSent: 1200, GoodOK: 1200,
			ContainedMS: new(int64(731)), P50MS: 3.91, P99MS: 88.4,
		},
	}
}

func TestTable(t *testing.T) {
	var b bytes.Buffer
	if err := example().WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	const want = `                                      without      with Bezoar
  workers                                   8                8
  pills sent                               17               17
  workers lost                            131                2
  good requests sent                     1200             1200
  good requests served                25.08 %            100 %
  good requests refused                   880                0
  p50                                  3.7 ms           3.9 ms
  p99                               2110.5 ms          88.4 ms
  time to contain                       never           0.73 s

  Without a defence 17 pills cost 131 workers, and 25.08 % of the good requests were served.
  With Bezoar they cost 2 workers, and 100 %.
`
	if got := b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// The document is a promise: these fields and no others.
func TestDocument(t *testing.T) {
	var b bytes.Buffer
	if err := example().WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var got map[string]map[string]any
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"contained_ms", "good_ok", "good_sent", "innocents_refused", "p50_ms", "p99_ms",
		"pills_sent", "workers", "workers_lost",
	}
	if len(got) != 2 {
		t.Errorf("the document has %d halves", len(got))
	}
	for _, half := range []string{"without", "with"} {
		var fields []string
		for f := range got[half] {
			fields = append(fields, f)
		}
		sort.Strings(fields)
		if !slices.Equal(fields, want) {
			t.Errorf("%s has %v, want %v", half, fields, want)
		}
	}
	if got["without"]["contained_ms"] != nil || got["with"]["contained_ms"] != 731.0 {
		t.Errorf("contained_ms %v and %v, want null and 731", got["without"]["contained_ms"], got["with"]["contained_ms"])
	}
}

func TestContained(t *testing.T) {
	start := time.Unix(1000, 0)
	at := func(s float64) time.Time { return start.Add(time.Duration(s * float64(time.Second))) }
	var never time.Time
	tests := []struct {
		name                     string
		first, lost, harm, ended time.Time
		want                     *int64
	}{
		{"no pill", never, never, never, at(10), nil},
		{"no harm", at(1), never, never, at(10), new(int64(0))},
		{"harm before the pill", at(1), never, at(0.5), at(10), new(int64(0))},
		{"a worker lost", at(1), at(2.5), never, at(10), new(int64(1500))},
		{"harm after the loss", at(1), at(2.5), at(3), at(10), new(int64(2000))},
		{"workers lost to the end", at(1), at(9), never, at(10), nil},
		{"nobody dies, nobody is served", at(1), at(2), at(9.9), at(10), nil},
	}
	for _, tt := range tests {
		got := contained(tt.first, tt.lost, tt.harm, tt.ended)
		if (got == nil) != (tt.want == nil) || got != nil && *got != *tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, value(got), value(tt.want))
		}
	}
}

func value(p *int64) any {
	if p == nil {
		return nil
	}
	return *p
}

func TestToll(t *testing.T) {
	var l toll
	class := func(c bezoar.Class) *bezoar.Class { return &c }
	now := time.Unix(2000, 0)
	events := []adminapi.Event{
		{Kind: kindDown, Class: class(bezoar.Crash), At: now, Text: "a died"},
		{Kind: kindDown, Class: class(bezoar.Interrupted), At: now.Add(1), Text: "b was stopped"},
		{Kind: kindDown, Class: class(bezoar.OOM), At: now.Add(2), Text: "c died"},
		{Kind: kindDown, Class: class(bezoar.Timeout), At: now.Add(3), Text: "d hung"},
		{Kind: "verdict", At: now.Add(5), Text: "quarantined"},
	}
	for _, e := range events {
		l.add(e)
	}
	if n, last := l.count(); n != 3 || !last.Equal(now.Add(3)) {
		t.Errorf("%d lost, the last at %v", n, last)
	}
}

func TestValidate(t *testing.T) {
	if err := (Config{Command: []string{"x"}}).Validate(); err != nil {
		t.Errorf("the defaults are refused: %v", err)
	}
	err := Config{Pill: "rat", Length: time.Second, Workers: 1, Rate: traffic.MaxRate + 1}.Validate()
	for _, want := range []string{"command", `"rat"`, "seconds is 1", "workers is 1", "rate is 2001"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
}
