package crash

import "testing"

func TestUntick(t *testing.T) {
	for line, want := range map[string]string{
		"`./run.sh: 5: Bad substitution`":             "./run.sh: 5: Bad substitution",
		"`Traceback (most recent call last):":         "Traceback (most recent call last):",
		"NameError: name 'x' is not defined`":         "NameError: name 'x' is not defined",
		"`~/.env: line 1: unexpected token `$'\\r''`": "~/.env: line 1: unexpected token `$'\\r''",
		"`require': cannot load such file -- x":       "`require': cannot load such file -- x",
		"x.rb:3:in `f': undefined method `g' for nil": "x.rb:3:in `f': undefined method `g' for nil",
		"Run `npm fund` for `details`":                "Run `npm fund` for `details`",
	} {
		if got := unticked(line); got != want {
			t.Errorf("unticked(%q) = %q, want %q", line, got, want)
		}
	}
}

// Rich draws boxes too; its reader needs their sides.
func TestUnboxLeavesRich(t *testing.T) {
	rich := &text{lines: []string{"╭─ Traceback (most recent call last) ─╮", "│ /srv/a.py:3 in f │", "│ x │"}}
	rich.unbox()
	if rich.lines[1] != "│ /srv/a.py:3 in f │" {
		t.Errorf("took %q for a window's line", rich.lines[1])
	}
	window := &text{lines: []string{"│ FATAL:  no    │", "│ DETAIL:  so   │"}}
	window.unbox()
	if window.lines[0] != "FATAL:  no" {
		t.Errorf("left %q of a window's line", window.lines[0])
	}
}
