//go:build linux

package worktest

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/process/guardian"
	"github.com/bezoar-dev/bezoar/worker"
)

// end is how a kind of message ends: in a class, after so many attempts.
type end struct {
	class    bezoar.Class
	attempts int
}

// language is a handler and what it makes of the kinds.
type language struct {
	name    string
	command func(t *testing.T) []string
	memory  string
	not     string         // the kind that it cannot do
	ends    map[string]end // that differ from the usual ones
	brief   string         // the mode that is left to the soak
	sqs     string         // the mode in which messages come over the SQS protocol
}

// kinds are the poisons, and how they usually end.
func kinds() map[string]end {
	return map[string]end{
		"segv":     {bezoar.Crash, 2},
		"abort":    {bezoar.Crash, 2},
		"oom":      {bezoar.OOM, 2},
		"loop":     {bezoar.Timeout, 4}, // ignores SIGTERM; in the soak's bash it also takes a processor
		"bomb":     {bezoar.Timeout, 4}, // held by the pids limit
		"escape":   {bezoar.Done, 1},    // leaves a process in a session of its own
		"invalid":  {bezoar.Invalid, 1}, // 65
		"later":    {bezoar.Done, 4},    // 75 three times
		"overflow": {bezoar.Bug, 3},     // of the stack, which these languages notice
		"flood":    {bezoar.Bug, 3},     // 50 MB of stderr, then an error
	}
}

func languages() []language {
	script := func(file, program string, flags ...string) func(t *testing.T) []string {
		return func(t *testing.T) []string {
			at, err := filepath.Abs(filepath.Join("testdata", file))
			if err != nil {
				t.Fatal(err)
			}
			if program == "python3" { // not a shim of it, which is a shell script that is slow to start
				if out, err := exec.Command(program, "-c", "import sys; print(sys.executable)").Output(); err == nil {
					program = strings.TrimSpace(string(out))
				}
			}
			return append(append([]string{program}, flags...), at)
		}
	}
	// Without the soak each language has one mode, and both modes have both protocols.
	return []language{
		// Without site-packages it starts in half the time.
		{name: "python", command: script("handler.py", "python3", "-S", "-E"), memory: "96MiB", brief: "pool", sqs: "process"},
		{name: "node", command: script("handler.mjs", "node"), memory: "128MiB", brief: "process", sqs: "pool"},
		// Its runtime needs threads, and dies where the limit refuses one.
		{name: "go", command: goHandler, memory: "64MiB", not: "bomb", brief: "pool", sqs: "pool"},
		{name: "bash", command: script("handler.sh", "bash"), memory: "64MiB", ends: map[string]end{
			"overflow": {bezoar.Crash, 2},
		}, brief: "process", sqs: "process"},
	}
}

// goHandler builds it once for all tests, in a folder that TestMain removes.
func goHandler(t *testing.T) []string {
	t.Helper()
	program, err := builtHandler()
	if err != nil {
		t.Fatal(err)
	}
	return []string{program}
}

var builtHandler = sync.OnceValues(func() (string, error) {
	program := filepath.Join(programs, "gohandler")
	build := exec.Command("go", "build", "-o", program, "./testdata/gohandler")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return program, nil
})

func (l language) end(kind string) end {
	if e, ok := l.ends[kind]; ok {
		return e
	}
	return kinds()[kind]
}

// Poison of every kind, in every language, over the SQS protocol and over the
// store, in a process per message and in a pool: every good message is done, each
// poison ends in its class after its attempts, and nothing outlives anything.
func TestPoison(t *testing.T) {
	t.Parallel()
	for _, l := range languages() {
		for _, mode := range []string{"process", "pool"} {
			if soak(0, 1) == 1 && mode == l.brief {
				continue
			}
			overSQS := mode == l.sqs
			name := l.name + "/" + mode + "/direct"
			if overSQS {
				name = l.name + "/" + mode + "/sqs"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				if _, err := exec.LookPath(l.command(t)[0]); err != nil && os.Getenv("BEZOAR_REQUIRE_SERVERS") == "" {
					t.Skipf("not here: %v", err)
				}
				timeout := l.timeout(t)
				t.Logf("an attempt may take %v", timeout)
				for ; !poison(t, l, mode, overSQS, timeout); timeout *= 3 {
					t.Logf("%v was not enough for what does not hang", timeout)
				}
			})
		}
	}
}

// timeout says how long an attempt may take on this machine, beside what else runs
// there now: several times as long as the kind that takes longest without hanging.
func (l language) timeout(t *testing.T) time.Duration {
	t.Helper()
	command := l.command(t)
	flood := exec.CommandContext(t.Context(), command[0], command[1:]...)
	flood.Env = append(os.Environ(), "DIARY="+filepath.Join(t.TempDir(), "diary"), "BEZOAR_MESSAGE_ID=flood", "BEZOAR_RECEIVE_COUNT=1")
	flood.Stdin, flood.Stderr = strings.NewReader("flood 0\n"), io.Discard
	began := time.Now()
	if err := flood.Run(); flood.ProcessState == nil || flood.ProcessState.Success() {
		t.Fatalf("a flood ends with %v, want a failure", err)
	}
	return max(1500*time.Millisecond, 4*time.Since(began))
}

// poison reports whether an attempt has had time enough on this machine: what is
// merely slow ends as what hangs does. At last a minute has to be enough.
func poison(t *testing.T, l language, mode string, overSQS bool, timeout time.Duration) bool {
	r := newRig(t)
	// With nothing but poison left, and much of it alike, the queue would take it
	// for an outage, as it should: good messages keep coming.
	sent := r.fill(l.bodies(soak(2000, 40), soak(12, 1)), time.Duration(soak(150, 0))*time.Second)
	stop := func() {}
	if overSQS {
		stop = r.serve()
	}
	command := l.command(t)
	if mode == "pool" {
		command = append(command, "pool")
	}
	began := time.Now()
	c := r.work([]string{
		"--mode", mode, "--concurrency", strconv.Itoa(soak(4, 3)), "--timeout", timeout.String(), "--grace", "200ms", "--memory", l.memory, "--pids", "32", "--drain", "5s",
	}, command)
	w := watch{crew: c, l: l, mode: mode, sent: sent, attempts: map[string]int{}, hurried: timeout < 50*time.Second}
	w.run()
	if w.slow {
		c.term()
		stop()
		return false
	}
	took := time.Since(began)
	w.idle()
	c.term()
	stop()
	r.nothingLeft(sent)
	w.check()
	t.Logf("%d messages, %d attempts (and %d given back, not begun) in %v; the worker's memory: %d MiB after a fifth, %d MiB at the end, %d MiB at most",
		len(sent), w.told-w.returned, w.returned, took.Round(time.Millisecond), w.early>>20, w.late>>20, w.most>>20)
	if t.Failed() {
		t.Logf("it said:\n%s", c.log)
	}
	return true
}

// bodies are n messages, each of whose kinds of poison has so many bodies, spread
// evenly.
func (l language) bodies(n, each int) (all []string) {
	var bad []string
	for i := range each {
		for kind := range kinds() {
			if kind != l.not {
				bad = append(bad, filler(kind, i))
			}
		}
	}
	for i := range n {
		if at := i * len(bad) / n; at != (i+1)*len(bad)/n {
			all = append(all, bad[at])
			continue
		}
		all = append(all, filler("good", i))
	}
	return all
}

// watch looks on while a crew works.
type watch struct {
	*crew
	l        language
	mode     string
	sent     map[string]string // bodies by id
	attempts map[string]int    // so far, by id
	told     int               // events
	returned int               // of them of messages that were given back
	left     int               // messages that are not through yet
	hurried  bool              // with more time this can be tried again
	slow     bool              // what does not hang was stopped for taking too long

	early, late, most int64 // memory of the worker
}

func kindOf(body string) string {
	kind, _, _ := strings.Cut(body, " ")
	return kind
}

// expect is how a message ends.
func (w *watch) expect(id string) end {
	if kind := kindOf(w.sent[id]); kind != "good" {
		return w.l.end(kind)
	}
	return end{bezoar.Done, 1}
}

// run follows the worker until every message has had its attempts.
func (w *watch) run() {
	w.left = len(w.sent)
	for w.left > 0 && !w.slow {
		select {
		case e, ok := <-w.events:
			if !ok {
				w.Fatalf("the worker ended by itself:\n%s", w.log)
			}
			w.event(e)
		case <-time.After(3 * time.Minute):
			w.Errorf("nothing happens, and %d messages are not through", w.left)
			return
		}
	}
}

// event takes in the end of an attempt, of which nothing may be alive any more.
func (w *watch) event(e worker.Event) {
	w.told++
	if w.early == 0 && w.told >= len(w.sent)/5 {
		w.early = memory(w, w.pid(), "VmRSS")
	}
	if e.Class == bezoar.Interrupted { // others would have begun it earlier: it was given back, which is no attempt
		w.returned++
		return
	}
	w.attempts[e.ID]++
	want := w.expect(e.ID)
	n := w.attempts[e.ID]
	if n == want.attempts {
		w.left--
	}
	class := want.class
	if kindOf(w.sent[e.ID]) == "later" && n < want.attempts {
		class = bezoar.Transient
	}
	if e.Class == bezoar.Timeout && class != bezoar.Timeout && w.hurried {
		w.slow = true
		return
	}
	if e.Class != class || e.Receives != n || n > want.attempts {
		w.Errorf("attempt %d of %q: %+v, want %v", n, w.sent[e.ID], e, class)
	}
	if w.mode == "pool" && e.Class == bezoar.Done { // its child lives on, and with it what it has
		return
	}
	job := fmt.Sprintf("%s/%d", e.ID, e.Receives)
	for _, p := range processes(w) {
		if p.job == job {
			w.Errorf("%v has outlived its message %q", p, w.sent[e.ID])
		}
	}
}

// idle looks at a worker that has nothing to do: it has no children but those of
// a pool, and no zombie.
func (w *watch) idle() {
	w.late, w.most = memory(w, w.pid(), "VmRSS"), memory(w, w.pid(), "VmHWM")
	for _, p := range processes(w) {
		if p.parent == w.pid() && !strings.Contains(p.command, guardian.Argument) && (w.mode != "pool" || p.state == 'Z') {
			w.Errorf("the idle worker has a child: %v", p)
		}
	}
	// The race detector multiplies what there is, and so do the first rounds.
	if w.late > w.early+32<<20 || w.most > w.early+64<<20 {
		w.Errorf("the worker's memory grew from %d MiB to %d MiB, with a peak of %d MiB", w.early>>20, w.late>>20, w.most>>20)
	}
}

// check compares what handlers saw and what the queue keeps with what was to be.
func (w *watch) check() {
	begun := map[string][]int{}
	for _, e := range w.entries() {
		if e.what == "begin" {
			begun[e.id] = append(begun[e.id], e.receives)
		}
	}
	letters := w.letters()
	for id, body := range w.sent {
		want := w.expect(id)
		if got := begun[id]; len(got) != want.attempts || !slices.IsSorted(got) {
			w.Errorf("%q was handled %v, want %d times", body, got, want.attempts)
		}
		letter, dead := letters[body]
		delete(letters, body)
		switch {
		case dead != (want.class != bezoar.Done):
			w.Errorf("%q: dead %v, want the end %+v", body, dead, want)
		case dead && (letter.Class != want.class || letter.Receives != want.attempts || letter.Origin != jobs || letter.Reason == ""):
			w.Errorf("the letter of %q is %+v, want %+v", body, letter, want)
		case dead && kindOf(body) == "flood" && !strings.Contains(letter.Stderr, "flood"):
			w.Errorf("the letter of %q has no last words", body)
		}
	}
	for body := range letters {
		w.Errorf("a letter of %q, which nobody sent", body)
	}
}
