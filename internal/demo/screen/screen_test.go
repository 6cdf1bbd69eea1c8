package screen

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar/internal/golden"
)

func fleet() []Tile {
	return []Tile{
		{Name: "shop-0", State: Serving, InFlight: 3},
		{Name: "shop-1", State: Dead, Deaths: 2},
		{Name: "shop-2", State: Starting, Deaths: 12},
		{Name: "shop-3", State: Lane},
		{Name: "shop-4", State: Draining, InFlight: 1},
		{Name: "a-worker-with-a-long-name", State: Serving},
	}
}

func TestRender(t *testing.T) {
	f := Frame{
		Title: "with the defence", Explain: "one filter crashes the worker that reads it",
		Elapsed: 4200 * time.Millisecond, Length: 10 * time.Second,
		Tiles: fleet(), Guarded: true, Suspect: 1, Convict: 2, Waiting: 3,
		GoodSent: 812, GoodOK: 811, PillsSent: 9, PillsRefused: 7, Lost: 2, P99: 74 * time.Millisecond,
		Served: []float64{-1, 1, 1, 0.99, 0.4, 0, 1},
		Log:    []string{"zero", "one", "two \x1b[31mred\x00", "three", strings.Repeat("long ", 40)},
	}
	for _, width := range []int{100, 80, 48} {
		golden.Equal(t, fmt.Sprintf("frame-%d.txt", width), []byte(strings.Join(f.Render(width, false), "\n")+"\n"))
	}
	f.Guarded = false
	golden.Equal(t, "frame-colour.txt", []byte(strings.ReplaceAll(strings.Join(f.Render(80, true), "\n"), "\x1b", "ESC")+"\n"))
}

// No line is wider than the terminal, whatever is to be shown, and nothing that
// comes from outside reaches the terminal as a control character.
func TestRenderFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tiles := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Tile {
			return Tile{
				Name:     rapid.StringN(0, 30, -1).Draw(t, "name"),
				State:    State(rapid.IntRange(0, 4).Draw(t, "state")),
				InFlight: rapid.IntRange(0, 99_999).Draw(t, "in flight"),
				Deaths:   rapid.IntRange(0, 99_999).Draw(t, "deaths"),
			}
		}), 0, 20).Draw(t, "tiles")
		f := Frame{
			Title: rapid.String().Draw(t, "title"), Explain: rapid.String().Draw(t, "explain"),
			Elapsed: time.Duration(rapid.Int64Range(0, 1e12).Draw(t, "elapsed")), Length: time.Minute,
			Tiles: tiles, Guarded: rapid.Bool().Draw(t, "guarded"),
			GoodSent: 1e9, GoodOK: 1e9, PillsSent: 1e9, P99: time.Hour,
			Served: rapid.SliceOf(rapid.Float64Range(-1, 1)).Draw(t, "served"),
			Log:    rapid.SliceOf(rapid.String()).Draw(t, "log"),
		}
		width := rapid.IntRange(40, 200).Draw(t, "width")
		for _, line := range f.Render(width, false) {
			if columns(line) > width {
				t.Fatalf("%d columns on a terminal of %d: %q", columns(line), width, line)
			}
			if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r == 0x7f }) {
				t.Fatalf("a control character in %q", line)
			}
		}
	})
}

func TestScreenDrawsOverItself(t *testing.T) {
	var out bytes.Buffer
	s := New(&out, func() int { return 80 }, false)
	if err := s.Leave(); err != nil || out.Len() != 0 {
		t.Errorf("leaving nothing wrote %q, %v", out.String(), err)
	}
	for range 2 {
		if err := s.Draw(Frame{Title: "x", Tiles: fleet()}); err != nil {
			t.Fatal(err)
		}
	}
	lines := len(Frame{Tiles: fleet()}.Render(79, false))
	if up := fmt.Sprintf("\x1b[%dA\r", lines); strings.Count(out.String(), up) != 1 {
		t.Errorf("the second frame did not go up %d lines: %q", lines, out.String())
	}
	if err := s.Leave(); err != nil || !strings.HasSuffix(out.String(), "\x1b[?25h\n") {
		t.Errorf("the cursor did not come back: %v", err)
	}
}
