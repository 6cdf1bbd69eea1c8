package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// block is one fenced block of a page: its language, what is said beside
// it, and its text.
type block struct {
	lang, note, text string
	line             int
}

// unrun reports whether a page says that no test runs the block, and what it would need.
func (b block) unrun() (needs string, unrun bool) {
	needs, unrun = strings.CutPrefix(b.note, "unrun=")
	return strings.Trim(needs, `"`), unrun
}

// unprinted reports whether a page says that no command of it prints the block, and
// what the block is.
func (b block) unprinted() (is string, unprinted bool) {
	is, unprinted = strings.CutPrefix(b.note, "unprinted=")
	return strings.Trim(is, `"`), unprinted
}

var fence = regexp.MustCompile("(?ms)^```(\\w*)([^\\n]*)\\n(.*?)^```$")

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

var (
	// notText is what nobody reads word by word: code, rows of tables, pictures, marks,
	// and where links lead.
	notText = regexp.MustCompile("(?ms)^```.*?^```$|^\\|[^\n]*$|!\\[[^]]*\\]|^#+ |\\]\\([^)]*\\)")
	// inTable is a command in the second column of a table.
	inTable = regexp.MustCompile("(?m)^\\| [^|]* \\| `([^`]+)` \\|$")
)

// Every command of the README is run, in order, in a copy of what it uses, with
// the ports it names moved to free ones.
func TestReadme(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(readme, []byte("\n")); n > 120 {
		t.Errorf("README.md has %d lines, want at most 120", n)
	}
	if n := len(strings.Fields(notText.ReplaceAllString(string(readme), ""))); n > 300 {
		t.Errorf("README.md has %d words outside of code, tables and links, want at most 300: a minute's reading", n)
	}
	guide := read(t, "docs/install.md") // make release-test runs its commands
	for _, m := range inTable.FindAllSubmatch(readme, -1) {
		if !strings.Contains(guide, "\n"+string(m[1])+"\n") {
			t.Errorf("README.md installs by %q, docs/install.md does not", m[1])
		}
	}
	r := newReader(t, "README.md")
	r.read(map[string][]string{"bezoar work": {"AttributeError"}}) // the page shows the rest
	if n := strings.Count(r.printed, " crash: SIGSEGV\n"); n != 2 {
		t.Errorf("%d handlers died of the README's message, want 2:\n%s", n, r.printed)
	}
}

func newReader(t *testing.T, file string) *reader {
	t.Helper()
	for _, needed := range []string{"python3", "curl"} {
		if _, err := exec.LookPath(needed); err != nil {
			t.Skipf("%s is not installed: what %s says cannot be tried (apt-get install %s)", needed, file, needed)
		}
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{t: t, file: file, dir: t.TempDir(), root: root, state: t.TempDir(), stop: func() {}, ports: strings.NewReplacer(
		"127.0.0.1:8080", freePort(t), "127.0.0.1:7070", freePort(t), "127.0.0.1:9324", freePort(t), "127.0.0.1:8081", freePort(t), "127.0.0.1:8443", freePort(t),
		"127.0.0.1:9101", freePort(t), "127.0.0.1:9102", freePort(t), "127.0.0.1:9103", freePort(t),
		"/tmp/app.sock", filepath.Join(t.TempDir(), "app.sock"))}
	for _, name := range []string{"cmd", "examples"} {
		if err := os.Symlink(filepath.Join(root, name), filepath.Join(r.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { r.stop() })
	return r
}

// newBuilt is a reader who has bezoar already.
func newBuilt(t *testing.T, file string) *reader {
	t.Helper()
	r := newReader(t, file)
	bin, err := exec.LookPath("bezoar") // this program, as scripts have it: only README's reader builds
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(bin, filepath.Join(r.dir, "bezoar")); err != nil {
		t.Fatal(err)
	}
	return r
}

// freePort finds an address that is free, and stays so: its port is from a range
// that systems do not hand out to those who do not ask for it.
func freePort(t *testing.T) string {
	t.Helper()
	var err error
	for range 100 {
		var l net.Listener
		addr := fmt.Sprint("127.0.0.1:", 10_000+rand.IntN(20_000))
		if _, taken := handedOut.LoadOrStore(addr, true); taken {
			continue
		}
		if l, err = net.Listen("tcp", addr); err == nil {
			defer l.Close()
			return addr
		}
	}
	t.Fatal(err)
	return ""
}

// handedOut holds the addresses that freePort has returned: nobody listens there
// until a page says so.
var handedOut sync.Map

// reader does what a page says.
type reader struct {
	t               *testing.T
	file, dir, root string
	state           string // the folder of what outlives a worker
	ports           *strings.Replacer
	printed         string   // by what has ended
	env             []string // of what runs, beside this process's
	stop            func()   // what runs in the background, of which there is one at a time
}

// read does all of it. wants is what blocks with some text have to print.
func (r *reader) read(wants map[string][]string) {
	r.t.Helper()
	all := blocks(r.t, filepath.Join(r.root, r.file))
	for i, b := range all {
		name, isFile := strings.CutPrefix(b.note, "file=")
		if name, _, _ = strings.Cut(name, " "); isFile {
			if err := os.WriteFile(filepath.Join(r.dir, name), []byte(r.ports.Replace(b.text)), 0o600); err != nil {
				r.t.Fatal(err)
			}
		}
		switch b.lang {
		case "python":
			_, module, needs := strings.Cut(b.note, "needs=")
			if needs && exec.CommandContext(r.t.Context(), "python3", "-c", "import "+module).Run() != nil {
				r.t.Logf("%s:%d: not tried, since Python has no %s", r.file, b.line, module)
				continue
			}
			b.text = "python3 " + name + "\n"
			r.run(b, nil)
		case "sh":
			if why, unrun := b.unrun(); unrun {
				r.t.Logf("%s:%d: not run, since it needs %s", r.file, b.line, why)
				continue
			}
			if _, err := exec.LookPath("node"); err != nil && strings.Contains(b.text, " node ") {
				r.t.Logf("%s:%d: not run, since Node.js is not installed", r.file, b.line)
				continue
			}
			var want []string
			for text, w := range wants {
				if strings.Contains(b.text, text) {
					want = append(want, w...)
				}
			}
			output := r.run(b, want)
			if i+1 == len(all) {
				continue
			}
			if _, _, ok := all[i+1].shown(); ok {
				r.await(all[i+1], output)
			}
		}
	}
}

// goCommand is a command of Go that needs the module.
var goCommand = regexp.MustCompile(`go (run|build -o \S+) \./\S+`)

// await waits until the output is as the page shows it. Only what runs in the
// background may still have to print it.
func (r *reader) await(shown block, output fmt.Stringer) {
	r.t.Helper()
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := r.compare(shown, output.String())
		if err == nil {
			return
		}
		if _, goesOn := output.(*sharedBuffer); !goesOn || time.Now().After(deadline) {
			r.t.Error(err)
			return
		}
		<-tick.C
	}
}

// run runs a block and returns what it prints.
func (r *reader) run(b block, want []string) fmt.Stringer {
	r.t.Helper()
	script := r.ports.Replace(b.text)
	for _, here := range goCommand.FindAllString(script, -1) {
		// The module is at the root; what is built lands where the rest runs.
		there := strings.Replace(here, "-o ", "-o "+r.dir+"/", 1)
		there = strings.Replace(there, "go ", "go -C "+r.root+" ", 1)
		there = strings.Replace(there, " build ", " build -ldflags=-s ", 1) // a third of linking is for debuggers
		there = strings.Replace(there, " run ", " run -ldflags=-s ", 1)
		script = strings.ReplaceAll(script, here, there)
	}
	admin := r.ports.Replace("127.0.0.1:7070")
	url, background := strings.CutPrefix(b.note, "background=")
	if background {
		r.stop()
		script = strings.Replace(script, "bezoar run", "bezoar run --listen "+r.ports.Replace("127.0.0.1:8080")+" --admin "+admin, 1)
		script = strings.Replace(script, "bezoar serve", "bezoar serve --sqs "+r.ports.Replace("127.0.0.1:9324")+" --admin "+admin, 1)
	}
	most := 5 * time.Minute
	if background {
		most = time.Hour // it goes on as long as the page does
	}
	ctx, cancel := context.WithTimeout(r.t.Context(), most)
	cmd := exec.CommandContext(ctx, "sh", "-e", "-c", script)
	cmd.Dir, cmd.Env = r.dir, append(os.Environ(), "BEZOAR_ADMIN="+admin, "XDG_STATE_HOME="+r.state)
	cmd.Env = append(cmd.Env, r.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = patience
	out := &sharedBuffer{}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		cancel()
		r.t.Fatal(err)
	}
	if !background {
		defer cancel()
		if err := cmd.Wait(); err != nil {
			r.t.Fatalf("%s:%d: %v\n%s\n%s", r.file, b.line, err, script, out.String())
		}
		r.t.Logf("%s\n%s", script, out.String())
		r.printed += out.String()
		for _, w := range want {
			if !strings.Contains(out.String(), w) {
				r.t.Errorf("%s:%d: printed no %q:\n%s", r.file, b.line, w, out.String())
			}
		}
		var ended strings.Builder
		ended.WriteString(out.String())
		return &ended
	}
	r.stop = func() {
		cancel()
		_ = cmd.Wait() // it was told to end
		if r.t.Failed() {
			r.t.Log(out.String())
		}
		r.stop = func() {}
	}
	waits, over := context.WithTimeout(ctx, patience)
	defer over()
	if err := answers(waits, r.ports.Replace(url)); err != nil {
		r.t.Fatalf("%s:%d: %v", r.file, b.line, err)
	}
	return out
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
