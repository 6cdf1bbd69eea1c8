package taskrun

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/flow"
)

// The bad rows of a file become letters, the rest is worked on; the next attempt
// does not repeat what is done.
func TestSift(t *testing.T) {
	r := runner(t, nil)
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("in.txt", "1\n2\n3\nbad\n5\n6\n7\n8\nbad too\n10\n")
	s := flow.Spec{
		Token: 1, Run: "r", Task: "t", Dir: dir,
		Sift: &flow.Sift{Rows: "in.txt", Batch: 4, Command: []string{"sh", "-c", `b=$(cat); case "$b" in *bad*) echo "no number: $b" >&2; exit 1;; esac; echo "$b" >> done; echo "$b"`}},
	}
	e := run(t, r, s)
	if e.Class != bezoar.Done || string(e.Output) != `{"bad":2,"rows":10}` || len(e.Rows) != 2 {
		t.Fatalf("ending %+v\n%s", e, logOf(t, r, 1))
	}
	if string(e.Rows[0].Body) != "bad" || e.Rows[0].Index != 3 || !strings.Contains(e.Rows[0].Reason, "no number") || string(e.Rows[1].Body) != "bad too" {
		t.Errorf("rows %+v", e.Rows)
	}
	if b, _ := os.ReadFile(filepath.Join(dir, "done")); len(strings.Fields(string(b))) != 8 {
		t.Errorf("done: %q", b)
	}
	if log := logOf(t, r, 1); !strings.Contains(log, "no number") || !strings.Contains(log, "10\n") {
		t.Errorf("log %q", log)
	}

	// The third row ends the attempt; the next one goes on behind the second.
	_ = os.Remove(filepath.Join(dir, "done"))
	write("in.txt", "1\n2\n3\n4\n")
	s.Token, s.Task = 2, "u"
	s.Sift = &flow.Sift{Rows: "in.txt", Batch: 1, Command: []string{"sh", "-c", `b=$(cat); if [ "$b" = 3 ] && [ ! -e works ]; then touch works; exec sleep 1000; fi; echo "$b" >> done`}}
	if err := r.Start(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { _, err := os.Stat(filepath.Join(dir, "works")); return err == nil })
	if err := r.Absent(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	if e := wait(t, r, 2); e.Class != bezoar.Interrupted || len(e.Rows) > 0 {
		t.Errorf("the one that was cut off: %+v", e)
	}
	s.Token = 3
	if e := run(t, r, s); e.Class != bezoar.Done || string(e.Output) != `{"bad":0,"rows":4}` {
		t.Errorf("the next one: %+v", e)
	}
	if b, _ := os.ReadFile(filepath.Join(dir, "done")); string(b) != "1\n2\n3\n4\n" {
		t.Errorf("done: %q", b)
	}

	// Where nothing works it is the command.
	s.Token, s.Task, s.Sift = 4, "v", &flow.Sift{Rows: "in.txt", Command: []string{"sh", "-c", "echo no such table >&2; exit 1"}}
	if e := run(t, r, s); e.Class != bezoar.Bug || !strings.Contains(e.Reason, "it is the command, not the data") || e.Fingerprint == "" {
		t.Errorf("a command that fails always: %+v", e)
	}
	s.Token, s.Sift = 5, &flow.Sift{Rows: "none.txt", Command: []string{"true"}}
	if e := run(t, r, s); e.Class != bezoar.Invalid || !strings.Contains(e.Reason, "none.txt") {
		t.Errorf("no file: %+v", e)
	}
}
