package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// block is one fenced block of the README: its language, what is said beside
// it, and its text.
type block struct {
	lang, note, text string
	line             int
}

var fence = regexp.MustCompile("(?ms)^```(\\w+)([^\\n]*)\\n(.*?)^```$")

func blocks(t *testing.T, file string) []block {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []block
	for _, m := range fence.FindAllSubmatchIndex(text, -1) {
		part := func(i int) string { return string(text[m[2*i]:m[2*i+1]]) }
		out = append(out, block{part(1), strings.TrimSpace(part(2)), part(3), 1 + bytes.Count(text[:m[0]], []byte("\n"))})
	}
	return out
}

// Every command of the README is run, in order, in a copy of what it uses, with
// the ports it names moved to free ones.
func TestReadme(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed: the README's example server cannot run (apt-get install python3)")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(readme, []byte("\n")); n > 150 {
		t.Errorf("README.md has %d lines, want at most 150", n)
	}
	dir := t.TempDir()
	for _, name := range []string{"cmd", "examples"} {
		if err := os.Symlink(filepath.Join(root, name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	r := &reader{t: t, dir: dir, root: root, ports: strings.NewReplacer(
		"127.0.0.1:8080", freePort(t), "127.0.0.1:7070", freePort(t))}
	for _, b := range blocks(t, filepath.Join(root, "README.md")) {
		switch {
		case b.lang == "yaml":
			name := filepath.Join(dir, strings.TrimPrefix(b.note, "file="))
			if err := os.WriteFile(name, []byte(b.text), 0o600); err != nil {
				t.Fatal(err)
			}
		case b.lang == "sh" && b.note != "not-run":
			r.run(b)
		}
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// reader does what the README says.
type reader struct {
	t         *testing.T
	dir, root string
	ports     *strings.Replacer
}

func (r *reader) run(b block) {
	r.t.Helper()
	script := r.ports.Replace(b.text)
	for _, here := range []string{"go run ./cmd/bezoar", "go build -o bezoar ./cmd/bezoar"} {
		// The module is at the root; what is built lands where the rest runs.
		there := strings.Replace(here, "-o bezoar", "-o "+filepath.Join(r.dir, "bezoar"), 1)
		there = strings.Replace(there, "go ", "go -C "+r.root+" ", 1)
		script = strings.ReplaceAll(script, here, there)
	}
	if !strings.Contains(b.text, "config ") && !strings.Contains(b.text, "curl") && !strings.Contains(b.text, "go ") {
		script = strings.ReplaceAll(script, " ls\n", " ls --admin "+r.ports.Replace("127.0.0.1:7070")+"\n")
	}
	url, background := strings.CutPrefix(b.note, "background=")
	if background {
		script = strings.Replace(script, "bezoar run", "bezoar run --listen "+r.ports.Replace("127.0.0.1:8080")+" --admin "+r.ports.Replace("127.0.0.1:7070"), 1)
	}
	ctx, cancel := context.WithTimeout(r.t.Context(), 3*time.Minute)
	cmd := exec.CommandContext(ctx, "sh", "-e", "-c", script)
	cmd.Dir = r.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		cancel()
		r.t.Fatal(err)
	}
	if !background {
		defer cancel()
		if err := cmd.Wait(); err != nil {
			r.t.Fatalf("README.md:%d: %v\n%s\n%s", b.line, err, script, out.String())
		}
		r.t.Logf("%s\n%s", script, out.String())
		r.check(b, out.String())
		return
	}
	r.t.Cleanup(func() {
		cancel()
		_ = cmd.Wait()
		if r.t.Failed() {
			r.t.Log(out.String())
		}
	})
	if err := answers(ctx, r.ports.Replace(url)); err != nil {
		r.t.Fatalf("README.md:%d: %v", b.line, err)
	}
}

// check holds what was printed to what the text around it promises.
func (r *reader) check(b block, out string) {
	want := ""
	switch {
	case strings.Contains(b.text, "/crash"):
		want = "quarantine"
	case strings.Contains(b.text, "quarantine ls"):
		want = "/crash"
	case strings.Contains(b.text, "demo"):
		want = "innocents refused"
	}
	if !strings.Contains(out, want) {
		r.t.Errorf("README.md:%d: %s printed no %q:\n%s", b.line, b.text, want, out)
	}
}

// answers waits until url answers 200.
func answers(ctx context.Context, url string) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return err
		}
		if res, err := http.DefaultClient.Do(req); err == nil {
			_, _ = io.Copy(io.Discard, res.Body)
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%s did not answer: %w", url, ctx.Err())
		}
	}
}
