package pool_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/process/child"
)

// The handler that the page shows first works.
func TestPageHandler(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Fatalf("python3 is missing on this machine: the handler of docs/pool.md cannot be tried without it")
	}
	page, err := os.ReadFile("../../../docs/pool.md")
	if err != nil {
		t.Fatal(err)
	}
	source := regexp.MustCompile("(?s)```python file=handler.py\n(.*?)```").FindSubmatch(page)
	if source == nil {
		t.Fatal("docs/pool.md has no handler.py")
	}
	file := filepath.Join(t.TempDir(), "handler.py")
	if err := os.WriteFile(file, source[1], 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := config(t, "")
	cfg.Child.Command = []string{"python3", file}
	p := start(t, cfg)
	for _, c := range []struct {
		job   child.Job
		class bezoar.Class
	}{
		{child.Job{Stdin: []byte("something\u2028 é\n")}, bezoar.Done},
		{child.Job{}, bezoar.Invalid},
		{child.Job{Stdin: []byte{0xff}}, bezoar.Invalid},
	} {
		if res := p.Do(t.Context(), c.job); res.Class != c.class {
			t.Errorf("%q: %+v, want %v", c.job.Stdin, res, c.class)
		}
	}
}
