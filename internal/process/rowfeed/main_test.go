package rowfeed

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bezoar-dev/bezoar/internal/process/rows"
	"github.com/bezoar-dev/bezoar/policy/backoff"
)

// envRun makes the test binary a sifting of its own; it holds its Config.
const envRun = "ROWFEED_TEST_RUN"

// job is what a process of the tests sifts.
type job struct {
	Input, State, Output, Letters string
	Command                       []string
	Batch, Parallel               int
}

func (j job) config() Config {
	return Config{
		Input: j.Input, State: j.State, OutputPath: j.Output, Letters: File(j.Letters),
		Command: j.Command, Batch: j.Batch, Parallel: j.Parallel, Grace: time.Second,
		Backoff: backoff.Config{Base: time.Millisecond, Cap: 10 * time.Millisecond},
	}
}

func TestMain(m *testing.M) {
	if text := os.Getenv(envRun); text != "" {
		var j job
		if err := json.Unmarshal([]byte(text), &j); err != nil {
			panic(err)
		}
		if _, err := Run(context.Background(), j.config()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// write makes a file of the test's.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// numbers are the lines 1 to n.
func numbers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintln(&b, i+1)
	}
	return b.String()
}

// sh is a command that a shell runs.
func sh(script string) []string { return []string{"sh", "-c", script} }

// awk fails at rows of which bad is true, and prints the others.
func awk(bad string) []string {
	return []string{"awk", bad + ` { print "Error: bad row " NR > "/dev/stderr"; exit 3 } { print }`}
}

// sifted runs cfg over text and returns what the command wrote.
func sifted(t *testing.T, text string, cfg Config) (string, Report, error) {
	t.Helper()
	var out bytes.Buffer
	if cfg.Input == "" && cfg.Stdin == nil {
		cfg.Stdin = strings.NewReader(text)
	}
	cfg.Output = &out
	cfg.Grace = time.Second
	cfg.Backoff = backoff.Config{Base: time.Millisecond, Cap: 10 * time.Millisecond}
	report, err := Run(t.Context(), cfg)
	return out.String(), report, err
}

func csv() rows.Config { return rows.Config{Format: rows.CSV} }

// lettersIn reads a file of letters.
func lettersIn(t *testing.T, path string) []Letter {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []Letter
	for line := range strings.Lines(string(text)) {
		var l Letter
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		out = append(out, l)
	}
	return out
}
