package crash

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// stranger is an output of a program or tool that no reader was written for,
// and what ought to be said of it.
type stranger struct {
	Name string
	Text string
	Kind string // of crash-logs.ndjson
	Bug  string // outputs of one bug share a group, those of two do not
	// Frame is the file's base name and the line, Type what failed; "" is not
	// asked for.
	Frame, Type string
	Class       string // "" is not asked for
	report      Report
}

func readStrangers(t testing.TB, file string) []stranger {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "strangers", file))
	if err != nil {
		t.Fatal(err)
	}
	var out []stranger
	for d := json.NewDecoder(bytes.NewReader(b)); d.More(); {
		var s stranger
		if err := d.Decode(&s); err != nil {
			t.Fatal(err)
		}
		if s.report, err = ParseBytes([]byte(s.Text)); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
		if got := s.report.Class.String(); s.Class != "" && got != s.Class {
			t.Errorf("%s: class %s, want %s", s.Name, got, s.Class)
		}
		out = append(out, s)
	}
	return out
}

// place is a frame as the expected answers write it.
func place(f Frame) string {
	s, _, _ := strings.Cut(Frame{File: base(f.File), Line: f.Line}.String(), " ")
	return s
}

// score says how well strangers are read: pairs that share a group, frames and
// types that are right.
func score(t *testing.T, list []stranger) (precision, recall, frame, typ float64) {
	t.Helper()
	var both, truth, told, frames, framesAsked, types, typesAsked int
	for i, a := range list {
		complained := false
		for _, b := range list[:i] {
			same, said := a.Bug == b.Bug, a.report.Group == b.report.Group
			both, truth, told = both+number(same && said), truth+number(same), told+number(said)
			if same != said && !complained {
				complained = true // once for each
				t.Logf("%s and %s: together %v, ought to be %v\n\t%s\n\t%s", b.Name, a.Name, said, same, brief(b.report), brief(a.report))
			}
		}
		if a.Frame != "" {
			framesAsked++
			frames += number(place(a.report.Frame) == a.Frame)
		}
		if a.Type != "" {
			typesAsked++
			types += number(a.report.Type == a.Type)
		}
		if a.Frame != "" && place(a.report.Frame) != a.Frame || a.Type != "" && a.report.Type != a.Type {
			t.Logf("%s: want %s at %s, got %s", a.Name, a.Type, a.Frame, brief(a.report))
		}
	}
	return ratio(both, told), ratio(both, truth), ratio(frames, framesAsked), ratio(types, typesAsked)
}

// TestStrangers measures outputs that were collected before the rules for them
// were written, and more of other tools that were collected behind them. What
// fresh.ndjson showed was mended; unseen.ndjson was written down after that. What
// foreign.ndjson and foreign-later.ndjson, read after that, showed was mended in part.
func TestStrangers(t *testing.T) {
	for file, least := range map[string][4]float64{"heldout.ndjson": {1, 0.98, 0.96, 0.85}, "later.ndjson": {1, 1, 0.89, 0.6}, "fresh.ndjson": {1, 1, 1, 1}, "unseen.ndjson": {1, 1, 1, 1}, "wild.ndjson": {1, 1, 1, 1}, "foreign.ndjson": {1, 0.95, 0.96, 0.97}, "foreign-later.ndjson": {1, 1, 0.88, 0.87}} {
		p, r, f, y := score(t, readStrangers(t, file))
		t.Logf("%s: pairs: precision %.3f, recall %.3f; frame %.3f, type %.3f", file, p, r, f, y)
		if p < least[0] || r < least[1] || f < least[2] || y < least[3] {
			t.Errorf("%s: want at least %v", file, least)
		}
	}
}

// TestCrashLogs reads the outputs that a round of bug reports brought:
// crash-logs.want.tsv says what ought to be read of each.
func TestCrashLogs(t *testing.T) {
	list := readStrangers(t, "crash-logs.ndjson")
	want, err := os.ReadFile(filepath.Join("testdata", "strangers", "crash-logs.want.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(want)), "\n")[1:]
	if len(lines) != len(list) {
		t.Fatalf("%d answers for %d outputs", len(lines), len(list))
	}
	for i, l := range lines {
		cells := strings.Split(l, "\t")
		if cells = append(cells, "", ""); cells[0] != list[i].Name {
			t.Fatalf("answer %d is about %s, want %s", i, cells[0], list[i].Name)
		}
		list[i].Bug, list[i].Frame, list[i].Type = cells[1], cells[2], cells[3]
	}
	kinds := map[string][]stranger{}
	for _, s := range list {
		kinds[s.Kind] = append(kinds[s.Kind], s)
	}
	for kind, list := range kinds {
		p, r, f, y := score(t, list)
		t.Logf("%s, %d: pairs: precision %.3f, recall %.3f; frame %.3f, type %.3f", kind, len(list), p, r, f, y)
	}
	p, r, f, y := score(t, list)
	t.Logf("pairs: precision %.3f, recall %.3f; frame %.3f, type %.3f", p, r, f, y)
	if p < 1 || r < 1 || f < 1 || y < 1 {
		t.Errorf("pairs: precision %.3f, recall %.3f; frame %.3f, type %.3f", p, r, f, y)
	}
}
