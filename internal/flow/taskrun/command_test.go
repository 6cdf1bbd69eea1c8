package taskrun

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/flow"
)

func TestACommandGetsWhatItIsFor(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("from-a-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := runner(t, func(c *Config) { c.Environ = append(c.Environ, "DB_PASSWORD=hunter2222", "BEZOAR_STORE=ours") })
	s := shell(7, `cat; env | grep -E '^(BEZOAR_|A=|P=|F=)' | sort; echo "oh: $P" >&2; echo '{"rows":3}' > "$BEZOAR_OUTPUT"`)
	s.Index, s.Item, s.Stdin, s.Dir = 2, "a b", []byte("body\n"), t.TempDir()
	s.Input.Due = time.Date(2026, 11, 29, 2, 0, 0, 0, time.UTC)
	s.Env = map[string]flow.Value{"A": {Text: "text"}, "P": {Secret: "env:DB_PASSWORD"}, "F": {Secret: "file:" + file}}
	e := run(t, r, s)
	if e.Class != bezoar.Done || e.ExitCode != 0 || string(e.Output) != "{\"rows\":3}\n" || e.Reason != "" || e.Elapsed <= 0 || e.MaxRSS <= 0 {
		t.Errorf("ending %+v", e)
	}
	log := logOf(t, r, 7)
	if int64(len(log)) != e.LogBytes {
		t.Errorf("the log has %d bytes, LogBytes is %d", len(log), e.LogBytes)
	}
	for _, want := range []string{
		"body\n", "A=text\n", "BEZOAR_ATTEMPT=1\n", "BEZOAR_DUE=2026-11-29T02:00:00Z\n", "BEZOAR_FLOW=daily\n", "BEZOAR_INDEX=2\n",
		"BEZOAR_ITEM=a b\n", "BEZOAR_RUN=r1\n", "BEZOAR_TASK=load\n", "BEZOAR_REPORT_FD=3\n", "P=[redacted]\n", "F=[redacted]\n", "oh: [redacted]\n",
	} {
		if !strings.Contains(log, want) {
			t.Errorf("the log has no %q:\n%s", want, log)
		}
	}
	if strings.Contains(log, "hunter2222") || strings.Contains(log, "from-a-file") || strings.Contains(log, "BEZOAR_STORE") {
		t.Errorf("the log has what nobody may read:\n%s", log)
	}
	if entries, _ := os.ReadDir(filepath.Join(r.cfg.Dir, "out")); len(entries) > 0 {
		t.Errorf("outputs stay: %v", entries)
	}
}

func TestEndings(t *testing.T) {
	r := runner(t, nil)
	for i, tc := range []struct {
		name, script string
		class        bezoar.Class
		reason       string
		quality      string
	}{
		{"data error", "exit 65", bezoar.Invalid, "exit status 65", "D"},
		{"not now", "exit 75", bezoar.Transient, "", "D"},
		{"trace", `printf 'Traceback (most recent call last):\n  File "/srv/app/etl.py", line 7, in load\n    1 / 0\nZeroDivisionError: division by zero\n' >&2; exit 1`, bezoar.Bug, "ZeroDivisionError: division by zero at", "A"},
		{"killed by somebody", "kill -9 $$", bezoar.Interrupted, "unexplained SIGKILL", ""},
		{"crash", "kill -SEGV $$", bezoar.Crash, "SIGSEGV", "D"},
		{"downstream", "echo 'curl: (7) Failed to connect to db port 5432: Connection refused' >&2; exit 7", bezoar.Outage, "", ""},
		{"report", `echo '{"class":"throttled","reason":"slow down","retry_after":"30s","downstream":"api"}' >&3; exit 1`, bezoar.Throttled, "slow down", ""},
		{"too much output", `head -c 70000 /dev/zero > "$BEZOAR_OUTPUT"`, bezoar.Invalid, "its output has 70000 bytes", ""},
		{"no regular output", `ln -s /etc/passwd "$BEZOAR_OUTPUT"`, bezoar.Invalid, "not a regular file", ""},
	} {
		e := run(t, r, shell(int64(i+1), tc.script))
		if e.Class != tc.class && (tc.name != "downstream" || e.Class != bezoar.Transient) || !strings.Contains(e.Reason, tc.reason) || tc.quality != "" && e.Quality != tc.quality {
			t.Errorf("%s: %+v", tc.name, e)
		}
		if tc.class == bezoar.Bug && (e.Fingerprint == "" || e.Group == "" || e.Fingerprint == e.Group) {
			t.Errorf("%s: fingerprint %q, group %q", tc.name, e.Fingerprint, e.Group)
		}
		if tc.name == "report" && (e.RetryAfter != 30*time.Second || e.Downstream != "api") {
			t.Errorf("%s: %+v", tc.name, e)
		}
	}
}

func TestWhatCannotStart(t *testing.T) {
	r := runner(t, nil)
	s := flow.Spec{Token: 1, Command: []string{"no-such-program-anywhere"}}
	e := run(t, r, s)
	if e.Class != bezoar.SpawnFailed || e.Fingerprint == "" || !strings.Contains(e.Reason, "no-such-program-anywhere") {
		t.Errorf("no program: %+v", e)
	}
	s = shell(2, "true")
	s.Env = map[string]flow.Value{"P": {Secret: "env:NO_SUCH_SECRET"}, "Q": {Secret: "file:/no/such/file"}}
	e = run(t, r, s)
	if e.Class != bezoar.SpawnFailed || !strings.Contains(e.Reason, "NO_SUCH_SECRET") || !strings.Contains(e.Reason, "/no/such/file") {
		t.Errorf("no secret: %+v", e)
	}
	if _, err := r.Wait(t.Context(), 99); !errors.Is(err, flow.ErrNotFound) {
		t.Errorf("an attempt that nobody started: %v", err)
	}
	if _, err := r.Logs(t.Context(), 99, 0, false); !errors.Is(err, flow.ErrNotFound) {
		t.Errorf("its log: %v", err)
	}
}

// Rows that a task names are lines of its stdin.
func TestBadRows(t *testing.T) {
	r := runner(t, nil)
	s := shell(1, `cat > /dev/null; echo '{"rows":[1,{"index":2,"reason":"no date"}]}' >&3`)
	s.Stdin = []byte("a,1\nb,x\nc,\n")
	e := run(t, r, s)
	if e.Class != bezoar.Done || e.Reason != "" || len(e.Rows) != 2 || string(e.Rows[0].Body) != "b,x" || string(e.Rows[1].Body) != "c," || e.Rows[1].Reason != "no date" {
		t.Errorf("ending %+v", e)
	}
}

// A task that gets its rows elsewhere names each in a line of its own.
func TestBadRowsWithBodies(t *testing.T) {
	r := runner(t, nil)
	e := run(t, r, shell(1, `
echo '{"row":3,"reason":"no price","body":{"id": 7}}' >&3
echo '{"row":9,"body":"a,b"}' >&3
echo '{"reason":"two rows were bad","rows":[11]}' >&3`))
	if e.Class != bezoar.Done || len(e.Rows) != 3 || string(e.Rows[0].Body) != `{"id": 7}` || e.Rows[0].Reason != "no price" ||
		string(e.Rows[1].Body) != "a,b" || e.Rows[2].Index != 11 || e.Reason != "two rows were bad" {
		t.Errorf("ending %+v", e)
	}
	e = run(t, r, shell(2, `i=0; while [ $i -le 1000 ]; do echo "{\"row\":$i}"; i=$((i+1)); done >&3`))
	if e.Class != bezoar.Invalid || e.Rows != nil || !strings.Contains(e.Reason, "1001 of its rows are bad") {
		t.Errorf("too many: %s, %d rows", e.Reason, len(e.Rows))
	}
	e = run(t, r, shell(3, `echo '{"row":-1}' >&3`))
	if e.Class != bezoar.Done || len(e.Rows) > 0 {
		t.Errorf("no row: %+v", e)
	}
}
