package app_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/app"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
	"github.com/bezoar-dev/bezoar/internal/process/cgroup"
	"github.com/bezoar-dev/bezoar/internal/state/lastrun"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

// lasting is a setup of which everything outlives the process.
func lasting(t *testing.T, replicas int) setup {
	t.Helper()
	dir := t.TempDir()
	return setup{Replicas: replicas, Store: "sqlite:" + filepath.Join(dir, "bezoar.db"), StateDir: dir}
}

// insistent callers send each request again, to whatever Bezoar there is, until
// it is answered.
type insistent struct {
	url      atomic.Pointer[string]
	stop     chan struct{}
	crew     sync.WaitGroup
	answered atomic.Int64
	broken   atomic.Int64 // tries without an answer: Bezoar died
	refused  atomic.Int64
	mu       sync.Mutex // guards first
	first    string     // of the refusals
}

func (c *insistent) run(n int) {
	c.stop = make(chan struct{})
	for i := range n {
		c.crew.Go(func() {
			tr := &http.Transport{}
			defer tr.CloseIdleConnections()
			for k := 0; c.until(&http.Client{Transport: tr, Timeout: 60 * time.Second}, target(i, k)); k++ {
			}
		})
	}
}

// target is what caller i asks for the k-th time: something popular, something
// slow of its own, or something that nobody has asked for before.
func target(i, k int) string {
	switch i % 4 {
	case 0:
		return "/popular?q=1"
	case 1:
		return fmt.Sprintf("/report?slow=%d", i)
	}
	return fmt.Sprintf("/item?slow=%d", i*1_000_000+k)
}

// until sends a request until it is answered, and reports whether to go on.
func (c *insistent) until(h *http.Client, target string) bool {
	for {
		select {
		case <-c.stop:
			return false
		default:
		}
		res, err := h.Get(*c.url.Load() + target)
		if err != nil {
			c.broken.Add(1)
			<-time.After(5 * time.Millisecond) // as callers do
			continue
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		switch {
		case err != nil:
			c.broken.Add(1)
		case res.StatusCode == http.StatusOK:
			c.answered.Add(1)
			return true
		default:
			c.refused.Add(1)
			c.mu.Lock()
			if c.first == "" {
				c.first = fmt.Sprintf("%s: %d %s", target, res.StatusCode, body)
			}
			c.mu.Unlock()
		}
	}
}

// Kills of Bezoar under load blame nobody: who was in flight at each of them is
// neither quarantined nor refused.
func TestKillsOfBezoarBlameNobody(t *testing.T) {
	t.Parallel()
	kills := 4
	if os.Getenv("BEZOAR_SOAK") != "" {
		kills = 50
	}
	s := lasting(t, 4)
	var c insistent
	for i := range kills {
		p := start(t, s)
		c.url.Store(&p.url)
		if i == 0 {
			c.run(24)
		}
		n := c.answered.Load()
		p.until("the crowd is at work", func() bool { return c.answered.Load() > n+20 && p.inFlight() >= 4 })
		if vs, err := p.admin.Verdicts(t.Context(), ""); err != nil || len(vs) > 0 {
			t.Errorf("after %d kills verdicts are %+v, %v", i, vs, err)
		}
		if i > 0 {
			p.said("how=unknown", "no request is blamed")
		}
		p.kill()
	}
	p := start(t, s)
	c.url.Store(&p.url)
	n := c.answered.Load()
	p.until("all are served", func() bool { return c.answered.Load() > n+100 })
	close(c.stop)
	c.crew.Wait()
	vs, err := p.admin.Verdicts(t.Context(), "")
	letters, err2 := p.admin.Letters(t.Context(), adminapi.LetterQuery{})
	if errors.Join(err, err2) != nil || len(vs) > 0 || len(letters) > 0 || c.refused.Load() > 0 {
		t.Errorf("verdicts %+v, letters %+v, %v; %d refused, the first %s", vs, letters, errors.Join(err, err2), c.refused.Load(), c.first)
	}
	if c.broken.Load() < int64(kills) {
		t.Errorf("only %d requests met a kill", c.broken.Load())
	}
	t.Logf("%d kills: %d answered, %d cut off, %d refused", kills, c.answered.Load(), c.broken.Load(), c.refused.Load())
}

func (p *process) inFlight() (n int) {
	for _, w := range p.fleet().Workers {
		n += w.InFlight
	}
	return n
}

// said fails the test unless one line of the log has all the words.
func (p *process) said(words ...string) {
	p.t.Helper()
	for line := range strings.Lines(p.log.String()) {
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) }) {
			return
		}
	}
	p.t.Errorf("no line says %q: %s", words, p.log.String())
}

// dies has Bezoar end itself, and waits for its end. What is in flight is cut off.
func (p *process) dies(how string) {
	p.t.Helper()
	res, err := p.http.Get("http://" + p.adminAddr + "/api/v1/demo/" + how)
	if err == nil {
		res.Body.Close()
		p.t.Errorf("asked to die it answers %s", res.Status)
	}
	var exit *exec.ExitError
	if err := reap(p.t, p.cmd); !errors.As(err, &exit) {
		p.t.Errorf("it ended with %v", err)
	}
}

// lingers puts requests in flight whose answers have begun and do not end, with
// nothing else beside them.
func (p *process) lingers(targets ...string) {
	p.t.Helper()
	for range 20 {
		p.get("/popular?q=1")
	}
	p.until("they are over", func() bool { return p.inFlight() == 0 })
	for _, target := range targets {
		res, err := p.http.Get(p.url + target) // returns once a worker has it
		if err != nil {
			p.t.Fatal(err)
		}
		p.t.Cleanup(func() { res.Body.Close() })
	}
}

// A panic of Bezoar convicts the work that was alone in flight, and says why.
func TestAPanicOfBezoarConvictsWhatWasAlone(t *testing.T) {
	t.Parallel()
	s := lasting(t, 2)
	p := start(t, s)
	p.lingers("/x?q=linger")
	p.dies("panic")

	p = start(t, s)
	const why = "Bezoar itself panicked with this alone in flight: panic: a test wants it, with token=[redacted]"
	p.said("the last run ended", "how=panic", "in_flight=1", "a test wants it", "is quarantined, unless")
	p.said("judged what was in flight", "fleet=app", "quarantined=1", "suspects=0")
	vs := p.convicts()
	if len(vs) != 1 || vs[0].Reason != why || len(vs[0].Evidence) != 1 || vs[0].Evidence[0].Detail != why {
		t.Fatalf("verdicts %+v", vs)
	}
	if trace := strings.Join(vs[0].Evidence[0].Stderr, "\n"); !strings.Contains(trace, "app_test.ends") || strings.Contains(trace, panicSecret) {
		t.Errorf("its evidence shows %q", trace)
	}
	if strings.Contains(p.log.String(), panicSecret) {
		t.Errorf("the log shows a secret: %s", p.log.String())
	}
	for range 2 {
		checkRefusal(t, p.get("/x?q=linger"))
	}
	p.until("a letter is kept", func() bool {
		letters, err := p.admin.Letters(t.Context(), adminapi.LetterQuery{})
		return err == nil && len(letters) == 1 && letters[0].Reason == why
	})
	for _, target := range []string{"/popular?q=1", "/x?q=1"} {
		if a := p.get(target); a.status != 200 {
			t.Errorf("%s: the innocent got %d %s", target, a.status, a.body)
		}
	}
	// The next run that ends in order says so, and the verdict stands.
	p.kill()
	p = start(t, s)
	p.said("how=unknown", "no request is blamed")
	checkRefusal(t, p.get("/x?q=linger"))
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	_ = reap(p.t, p.cmd)
	p = start(t, s)
	p.said("the last run ended", "how=orderly")
}

// A panic with several in flight makes suspects, and one run in the lane clears
// them.
func TestAPanicOfBezoarWithSeveralInFlightConvictsNobody(t *testing.T) {
	t.Parallel()
	s := lasting(t, 2)
	p := start(t, s)
	p.lingers("/x?q=linger", "/y?q=linger")
	p.dies("panic")

	p = start(t, s)
	p.said("how=panic", "in_flight=2", "no request is convicted")
	if vs := p.held(bezoar.Suspected); len(vs) != 2 || len(p.convicts()) > 0 || !strings.Contains(vs[0].Evidence[0].Detail, "with this and 1 other in flight") {
		t.Errorf("suspects %+v, convicts %+v", vs, p.convicts())
	}
	if a := p.get("/popular?q=1"); a.status != 200 {
		t.Errorf("the innocent got %d %s", a.status, a.body)
	}
}

// A crash over a request that is no work in flight, here an operator's, is not
// laid at the door of the innocent that was alone in flight.
func TestACrashOverAnotherRequestBlamesNobody(t *testing.T) {
	t.Parallel()
	s := lasting(t, 2)
	p := start(t, s)
	p.lingers("/x?q=linger")
	p.dies("overflow")

	p = start(t, s)
	p.said("how=panic", "in_flight=1", "stack overflow", "came from a request that was not in flight yet")
	if vs, err := p.admin.Verdicts(t.Context(), ""); err != nil || len(vs) > 0 {
		t.Errorf("verdicts %+v, %v", vs, err)
	}
}

// What a journal holds of one run is not judged by the end of another.
func TestAJournalOfAnEarlierRunIsNotJudged(t *testing.T) {
	t.Parallel()
	s := lasting(t, 2)
	p := start(t, s)
	p.lingers("/x?q=linger")
	p.kill()
	journal := filepath.Join(s.StateDir, "inflight-app.journal")
	content, err := os.ReadFile(journal)
	if err != nil {
		t.Fatal(err)
	}
	p = start(t, s)
	p.dies("panic")
	if err := os.WriteFile(journal, content, 0o600); err != nil {
		t.Fatal(err)
	}
	p = start(t, s)
	p.said("how=panic", "in_flight=0", "nothing was in flight")
	if vs, err := p.admin.Verdicts(t.Context(), ""); err != nil || len(vs) > 0 {
		t.Errorf("verdicts %+v, %v", vs, err)
	}
}

// Work is alone only if no other fleet had any.
func TestWhatOtherFleetsHadInFlight(t *testing.T) {
	t.Parallel()
	one, two := ledger.Record{Fingerprint: bezoar.Fingerprint{1}}, ledger.Record{Fingerprint: bezoar.Fingerprint{2}}
	last := lastrun.Report{How: lastrun.Panicked, ID: 7, Line: "panic: boom"}
	runs, total := app.LastRuns(last, []ledger.Record{one, one}, nil, []ledger.Record{one, two})
	if total != 3 || len(runs) != 3 {
		t.Fatalf("%d in flight in %d fleets", total, len(runs))
	}
	for i, want := range []int{2, 3, 1} {
		if d := runs[i].Death; d.Elsewhere != want || d.Proof != blame.Panicked || d.Line != last.Line {
			t.Errorf("fleet %d is told %+v, want %d elsewhere", i, d, want)
		}
	}
	last.ID = 0 // the file did not say
	if runs, total := app.LastRuns(last, []ledger.Record{one}); total != 0 || len(runs[0].Flight) != 0 {
		t.Errorf("of an unknown run %+v", runs[0])
	}
}

// A success is one in the journal, also when it has decayed a little.
func TestSuccessesInTheJournal(t *testing.T) {
	t.Parallel()
	for in, want := range map[float64]uint16{0: 0, 1e-9: 0, 0.4: 1, 0.999: 1, 1: 1, 1.5: 2, 40.2: 41, 1e9: 65535} {
		if got := app.Whole(in); got != want {
			t.Errorf("%v becomes %d, want %d", in, got, want)
		}
	}
}

// What is looked for on stacks is in the binary by that name.
func TestFunctionsOnStacksAreThere(t *testing.T) {
	t.Parallel()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range app.OnStacks() {
		if !bytes.Contains(exe, []byte(name+"\x00")) { // as the runtime's table of names ends each
			t.Errorf("there is no function %s", name)
		}
	}
}

func TestWhatACrashWasOver(t *testing.T) {
	t.Parallel()
	on := app.OnStacks()
	delivers, serves, answers, answers2 := on[0], on[1], on[2], "net/http/internal/http2.(*s"+on[3]
	for _, tc := range []struct {
		calls []string
		other bool
	}{
		{nil, false}, // unknown
		{[]string{"panic", "github.com/bezoar-dev/bezoar/gateway.(*upload).run"}, false},
		{[]string{"panic", "x.f", delivers, "x.g", serves}, false},
		{[]string{"panic", "x.f", delivers, "x.g", answers2}, false},
		{[]string{"x.f", serves}, true},
		{[]string{"x.f", "net/http.HandlerFunc.ServeHTTP", answers, "net/http.(*Server).Serve"}, true},
		{[]string{"x.f", answers2}, true},
	} {
		if got := app.OverOther(tc.calls); got != tc.other {
			t.Errorf("%q: %v", tc.calls, got)
		}
	}
}

// The kernel kills Bezoar for memory: what was in flight twice is convicted, and
// a kill from outside in the same group proves nothing.
func TestOutOfMemoryKillsOfBezoar(t *testing.T) {
	t.Parallel()
	g, err := cgroup.Create("app-self", 160<<20)
	if errors.Is(err, cgroup.ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Remove(); err != nil {
			t.Error(err)
		}
	})
	begin := func(cmd *exec.Cmd) error { return startIn(g, cmd) }
	s := lasting(t, 2)
	for i := range 3 {
		p := startBy(t, s, begin)
		p.lingers("/x?q=linger", fmt.Sprintf("/other?q=linger%d", i))
		if i == 1 {
			p.kill()
			continue
		}
		p.dies("memory")
	}
	p := startBy(t, s, begin)
	p.said("how=\"out of memory\"", "oom_kills=")
	vs := p.convicts()
	if len(vs) != 1 || vs[0].Cause != bezoar.OOM || !strings.Contains(vs[0].Reason, "2 deaths of Bezoar itself for lack of memory") {
		t.Fatalf("verdicts %+v", vs)
	}
	checkRefusal(t, p.get("/x?q=linger"))
	if a := p.get("/popular?q=1"); a.status != 200 {
		t.Errorf("the innocent got %d %s", a.status, a.body)
	}
}

// startIn starts a process in g, from a thread that is not the process's first.
func startIn(g *cgroup.Group, cmd *exec.Cmd) error {
	done, finished := make(chan error), make(chan struct{})
	defer close(finished)
	var try func()
	try = func() {
		runtime.LockOSThread() // and never unlocked: the thread ends here
		if unix.Gettid() == os.Getpid() {
			go try() // gets another thread while this one is held
			<-finished
			runtime.UnlockOSThread()
			return
		}
		done <- g.Start(cmd)
	}
	go try()
	return <-done
}
