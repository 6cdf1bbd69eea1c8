package handlers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/process/child"
	"github.com/bezoar-dev/bezoar/internal/process/pool"
)

// language is one in which there is a handler for each mode.
type language struct {
	name          string
	needs         []string // programs
	process, pool []string // commands
}

func languages(t testing.TB) []language {
	bin := t.TempDir()
	list := []language{
		{"python", []string{"python3"}, []string{"python3", "python/process.py"}, []string{"python3", "python/pool.py"}},
		{"node", []string{"node"}, []string{"node", "node/process.mjs"}, []string{"node", "node/pool.mjs"}},
		{"go", []string{"go"}, []string{filepath.Join(bin, "process")}, []string{filepath.Join(bin, "pool")}},
		{"bash", []string{"bash", "jq", "base64"}, []string{"bash", "bash/process.sh"}, []string{"bash", "bash/pool.sh"}},
	}
	for _, l := range list {
		for _, program := range l.needs {
			if _, err := exec.LookPath(program); err != nil {
				t.Fatalf("%s is missing on this machine: the example handlers in %s cannot be tried without it", program, l.name)
			}
		}
	}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "./go/...").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return list
}

// doer is what both modes have in common.
type doer interface {
	Do(ctx context.Context, j child.Job) child.Result
	Run(ctx context.Context) error
}

func config(command []string, mark string) child.Config {
	return child.Config{Command: command, Mark: mark, Grace: 2 * time.Second, Timeout: time.Minute}
}

func run(t testing.TB, d doer) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// Handlers of all languages do the same in both modes.
func TestHandlers(t *testing.T) {
	for _, l := range languages(t) {
		t.Run(l.name+"/end", func(t *testing.T) {
			t.Parallel()
			end(t, l)
		})
		t.Run(l.name+"/process", func(t *testing.T) {
			t.Parallel()
			r, err := child.New(config(l.process, t.Name()))
			if err != nil {
				t.Fatal(err)
			}
			run(t, r)
			try(t, r)
		})
		t.Run(l.name+"/pool", func(t *testing.T) {
			t.Parallel()
			p, err := pool.New(pool.Config{Child: config(l.pool, t.Name()), Size: 1})
			if err != nil {
				t.Fatal(err)
			}
			run(t, p)
			try(t, p)
			long, err := json.Marshal(map[string]string{"text": strings.Repeat("long ", 200_000)})
			if err != nil {
				t.Fatal(err)
			}
			if res := p.Do(t.Context(), child.Job{Stdin: long}); res.Class != bezoar.Done || len(res.Stderr) != child.DefaultTail {
				t.Errorf("a body of %d bytes: %v, %q, %d bytes printed", len(long), res.Class, res.Detail, len(res.Stderr))
			}
		})
	}
}

func try(t *testing.T, d doer) {
	for _, c := range []struct {
		body  string
		class bezoar.Class
		says  string // somewhere in what it says, or prints
		after time.Duration
	}{
		{`{"text": "stone"}`, bezoar.Done, "STONE", 0},
		{"{\"text\":\n\"zwei\\n\\\"Zeilen\\\" $HOME \\\\ %s\"}\n", bezoar.Done, "ZWEI\n\"ZEILEN\" $HOME \\ %S", 0},
		{`{"text": 70711}`, bezoar.Bug, "", 0},
		{`{"text": "again"}`, bezoar.Done, "AGAIN", 0},
		{"no JSON at all", bezoar.Invalid, "no JSON", 0},
		{"\xff\xfe", bezoar.Invalid, "no JSON", 0},
		{`{"busy": 7}`, bezoar.Throttled, "", 7 * time.Second},
		{`{"crash": true}`, bezoar.Crash, "", 0},
		{`{"text": "and again"}`, bezoar.Done, "AND AGAIN", 0},
		{`{"hang": true}`, bezoar.Timeout, "", 0},
		{`{"text": "at last"}`, bezoar.Done, "AT LAST", 0},
	} {
		j := child.Job{Stdin: []byte(c.body), Message: child.Message{ID: `an "id" of \ mine`, Receives: 1}}
		if c.class == bezoar.Timeout {
			j.Timeout = 300 * time.Millisecond
		}
		res := d.Do(t.Context(), j)
		said := string(res.Stdout) + string(res.Stderr)
		report := res.Report
		if report == nil {
			report = new(child.Report)
		}
		if all := said + report.Reason; res.Class != c.class || !strings.Contains(all, c.says) {
			t.Errorf("%q: %v (%s), %q, want %v, %q", c.body, res.Class, res.Detail, all, c.class, c.says)
		}
		if report.RetryAfter != c.after || c.after > 0 && report.Downstream != "shop" {
			t.Errorf("%q: says %+v", c.body, report)
		}
		if res.Class == bezoar.Bug && said == "" {
			t.Errorf("%q: a bug without evidence", c.body)
		}
	}
}

// end has handlers in a pool work at the same time, and end when their stdin does.
func end(t *testing.T, l language) {
	p, err := pool.New(pool.Config{Child: config(l.pool, t.Name()), Size: 2, Exit: 2 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	answers := make(chan child.Result, 8)
	for i := range cap(answers) {
		go func() { answers <- p.Do(t.Context(), child.Job{Stdin: fmt.Appendf(nil, `{"text": "t%d"}`, i)}) }()
	}
	for range cap(answers) {
		if res := <-answers; res.Class != bezoar.Done {
			t.Errorf("%s: %+v", l.name, res)
		}
	}
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("%s: %v", l.name, err)
		}
	case <-time.After(time.Minute): // before anybody is killed
		t.Errorf("%s: does not end at the end of its stdin", l.name)
	}
}
