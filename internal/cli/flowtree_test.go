package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/flow/flowapi"
	"github.com/bezoar-dev/bezoar/policy/task"
)

// shownRun has a diamond of tasks, one of which an attacker named.
func shownRun(now time.Time) *flowapi.Run {
	one := func(name string, state task.State, needs ...string) flowapi.Task {
		return flowapi.Task{Name: name, State: state, Needs: needs, Counts: map[task.State]int{state: 1}, Instances: []flowapi.Instance{{Task: name, State: state}}}
	}
	fetch := one("fetch", task.Success)
	fetch.First, fetch.Ended = now.Add(-9*time.Second), now.Add(-7500*time.Millisecond)
	load := one("load", task.Retrying, "fetch")
	load.First, load.Instances[0].Attempts, load.Instances[0].NextAt = now.Add(-7*time.Second), 2, now.Add(3*time.Second)
	load.Why = "again in 4s, after failure 1 (bug; exit status 3)"
	evil := one("evil\x1b[31m\u202e", task.DeadLetter, "fetch")
	evil.Why = "it failed\n\x1b[2Jtwice"
	return &flowapi.Run{
		ID: "01k0000000000000000000000a", Flow: "orders", State: flow.RunRunning, Created: now.Add(-10 * time.Second), Left: adminapi.Duration(42 * time.Second),
		Tasks: []flowapi.Task{fetch, load, evil, one("report", task.Pending, "load", "evil\x1b[31m\u202e")},
	}
}

func TestTree(t *testing.T) {
	now := time.Unix(1000, 0)
	got := strings.Join(treeOf(&printer{w: new(bytes.Buffer)}, shownRun(now), now, 0), "\n")
	want := strings.Join([]string{
		"run 01k0000000000000000000000a  orders  RUNNING  10s, about 42s left",
		`✔ fetch                    SUCCESS            1.5s`,
		`├─ ↻ load                  RETRYING           7.0s  attempt 2; next in 3s; after failure 1 (bug; exit status 3)`,
		`│  └─ · report             PENDING                  needs also evil\x1b[31m\u202e`,
		`└─ ✖ evil\x1b[31m\u202e  DEAD_LETTER              it failed\x0a\x1b[2Jtwice`,
	}, "\n")
	squeeze := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	if squeeze(got) != squeeze(want) {
		t.Errorf("the tree is\n%s\nwant\n%s", got, want)
	}
}

// In a small window the tasks that need attention come first, and the rest is
// counted.
func TestTreeInASmallWindow(t *testing.T) {
	now := time.Unix(1000, 0)
	r := shownRun(now)
	for range 100 {
		r.Tasks = append(r.Tasks, flowapi.Task{Name: "more", State: task.Success})
	}
	lines := treeOf(&printer{w: new(bytes.Buffer)}, r, now, 6)
	if text := strings.Join(lines, "\n"); len(lines) != 6 || !strings.Contains(text, "DEAD_LETTER") || !strings.Contains(text, "RETRYING") || !strings.Contains(lines[5], "… 100 more: 100 SUCCESS") {
		t.Errorf("the tree is\n%s", text)
	}
}

// A frame is one write that begins where the last one began; the log comes above.
func TestFramesReplaceEachOther(t *testing.T) {
	now := time.Unix(1000, 0)
	var out countingWriter
	p := &printer{w: &out, width: func() int { return 60 }}
	s := &session{Process: Process{Stdout: &out, Stderr: &out}, out: p, now: func() time.Time { return now }}
	v := &treeView{s: s, rows: func() int { return 24 }}
	v.show(shownRun(now))
	first := out.String()
	if out.writes != 1 || strings.Count(first, "\n") != 5 || strings.Contains(first, "A\r") {
		t.Errorf("the first frame is %d writes: %q", out.writes, first)
	}
	for line := range strings.SplitSeq(first, "\n") {
		if n := visible(strings.NewReplacer("\r", "", "\x1b[K", "", "\x1b[?2026h", "", "\x1b[J", "", "\x1b[?2026l", "").Replace(line)); n > 60 {
			t.Errorf("a line of %d columns wraps: %q", n, line)
		}
	}
	out.Reset()
	v.show(shownRun(now))
	if got := out.String(); out.writes != 1 || !strings.HasPrefix(got, "\x1b[?2026h\x1b[5A\rrun ") {
		t.Errorf("the second frame is %d writes: %q", out.writes, got)
	}
	out.Reset()
	if _, err := v.Write([]byte("a warning\n")); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); strings.Index(got, "a warning") > strings.Index(got, "run 01k") || !strings.HasPrefix(got, "\x1b[?2026h\x1b[5A\x1b[J") {
		t.Errorf("the log is %q", got)
	}
}

type countingWriter struct {
	bytes.Buffer
	writes int
}

func (w *countingWriter) Write(p []byte) (int, error) {
	w.writes++
	return w.Buffer.Write(p)
}

func (w *countingWriter) Reset() {
	w.writes = 0
	w.Buffer.Reset()
}
