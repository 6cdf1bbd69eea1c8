package worker_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/backoff"
	"github.com/bezoar-dev/bezoar/policy/poison"
	"github.com/bezoar-dev/bezoar/queue"
	"github.com/bezoar-dev/bezoar/worker"
)

// setup is what a worker in a process of its own is told.
type setup struct {
	URL, DeadLetter, State, Script string
	Concurrency                    int
	Visibility                     time.Duration
	InProcess                      bool // a handler that dies of bodies that begin with die
}

// beAWorker works until SIGTERM, and prints its events.
func beAWorker() {
	var s setup
	if err := json.Unmarshal([]byte(os.Getenv("BE_A_WORKER")), &s); err != nil {
		panic(err)
	}
	source := worker.SQS(client(s.URL), s.URL)
	source.DeadLetter = s.DeadLetter
	out := json.NewEncoder(os.Stdout)
	cfg := worker.Config{
		Source: source, State: s.State, Concurrency: s.Concurrency, Visibility: s.Visibility,
		Retry: backoff.Config{Strategy: backoff.Immediate}, Poison: poison.Config{For: time.Hour},
		Observe: func(e worker.Event) { _ = out.Encode(e) },
		Log:     slog.New(slog.NewTextHandler(os.Stderr, nil)),
	}
	if s.InProcess {
		cfg.Handler = func(_ context.Context, m worker.Message) error {
			if strings.HasPrefix(string(m.Body), "die") {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
			return nil
		}
	} else {
		cfg.Command = shell(s.Script)
		cfg.Command.Grace = 100 * time.Millisecond
	}
	w, err := worker.New(cfg)
	if err != nil {
		panic(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := w.Run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// process is a worker in a process of its own.
type process struct {
	*exec.Cmd
	events chan worker.Event
	ended  chan struct{}
}

func (r *rig) spawn(s setup) *process {
	r.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		r.Fatal(err)
	}
	p := &process{Cmd: exec.Command(os.Args[0]), events: make(chan worker.Event, 10_000), ended: make(chan struct{})}
	p.Env = append(os.Environ(), "BE_A_WORKER="+string(text), "GORACE=atexit_sleep_ms=0")
	if testing.Verbose() {
		p.Stderr = os.Stderr
	}
	out, err := p.StdoutPipe()
	if err != nil {
		r.Fatal(err)
	}
	if err := p.Start(); err != nil {
		r.Fatal(err)
	}
	go p.read(out)
	r.Cleanup(p.kill)
	return p
}

func (p *process) read(out io.Reader) {
	defer close(p.ended)
	for s := bufio.NewScanner(out); s.Scan(); {
		var e worker.Event
		if json.Unmarshal(s.Bytes(), &e) == nil {
			p.events <- e
		}
	}
	_ = p.Wait() // killed, or done
}

func (p *process) kill() {
	_ = p.Process.Kill()
	<-p.ended
}

func (p *process) term(t testing.TB) {
	t.Helper()
	_ = p.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(patience):
		t.Fatal("it does not stop")
	}
}

func (p *process) next(t testing.TB) worker.Event {
	t.Helper()
	select {
	case e := <-p.events:
		return e
	case <-time.After(patience):
		t.Fatal("nothing happens")
	}
	panic("unreachable")
}

// files waits until a folder holds n files and returns what is in them.
func files(t testing.TB, dir string, n int) []string {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-time.After(5 * time.Millisecond) {
		names, _ := filepath.Glob(filepath.Join(dir, "*"))
		var all []string
		for _, name := range names {
			if text, err := os.ReadFile(name); err == nil && len(text) > 0 {
				all = append(all, strings.TrimSpace(string(text)))
			}
		}
		if len(all) >= n {
			return all
		}
	}
	t.Fatalf("%s does not hold %d files", dir, n)
	return nil
}

func alive(pid string) bool {
	n, err := strconv.Atoi(pid)
	if err != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// When a worker is killed, the next one sweeps its children away, and says which
// messages were running, no other ones; together, so that they are suspects only.
func TestAKilledWorkersMessages(t *testing.T) {
	for _, kind := range []string{"bezoar", "foreign"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.create("jobs", func(s *queue.Settings) { s.Quarantine.Off = kind == "foreign" })
			url := r.url
			if kind == "foreign" {
				url = r.foreign
			}
			bodies := []string{"the first message", "the second message", "the third message", "the fourth message", "the fifth message"}
			r.send("jobs", bodies...)
			pids, done := t.TempDir(), t.TempDir()
			s := setup{
				URL: url + "jobs", State: filepath.Join(t.TempDir(), "state"), Concurrency: 3, Visibility: time.Minute,
				Script: fmt.Sprintf(`echo $$ > %s/$BEZOAR_MESSAGE_ID; exec sleep 600`, pids),
			}
			first := r.spawn(s)
			running := files(t, pids, 3)
			first.kill()

			s.Script = fmt.Sprintf(`cat > %s/$BEZOAR_MESSAGE_ID`, done)
			second := r.spawn(s)
			for range 3 {
				e := second.next(t)
				if e.Class != bezoar.Crash || !strings.Contains(e.Reason, "and 2 others") || e.Outcome == worker.OutcomeLost {
					t.Errorf("event %+v", e)
				}
			}
			for _, pid := range running {
				if alive(pid) {
					t.Errorf("process %s outlives its worker and the start of the next one", pid)
				}
			}
			for range 5 {
				if e := second.next(t); e.Outcome != worker.OutcomeDone {
					t.Errorf("event %+v", e)
				}
			}
			files(t, done, 5)
			second.term(t)
			r.counts("jobs", 0, 0, 0)
			if r.calls.of("SendMessage") > 0 {
				t.Error("something was set aside")
			}
		})
	}
}

// A message that kills the process of its handler is found out, whatever runs
// beside it: suspected in company, tried alone, convicted there.
func TestAMessageThatKillsItsWorker(t *testing.T) {
	for _, kind := range []string{"bezoar", "foreign"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.create("jobs", func(s *queue.Settings) { s.Quarantine.Off = kind == "foreign" })
			r.create("dead", nil)
			s := setup{URL: r.url + "jobs", State: t.TempDir(), Concurrency: 4, Visibility: 2 * time.Second, InProcess: true}
			dead := "jobs-dlq"
			if kind == "foreign" {
				s.URL, s.DeadLetter, dead = r.foreign+"jobs", r.foreign+"dead", "dead"
			}
			r.send("jobs", "an innocent one", "die of this message", "another innocent one", "and one more of them")
			deaths := 0
			for {
				w := r.spawn(s)
				if !survives(t, r, w, dead) {
					deaths++
					if deaths > 6 {
						t.Fatal("the message kills worker after worker")
					}
					continue
				}
				w.term(t)
				break
			}
			if deaths < 2 || deaths > 3 {
				t.Errorf("%d workers died of it", deaths)
			}
			if m := r.messages(dead); len(m) != 1 || string(m[0].Body) != "die of this message" {
				t.Errorf("set aside was %+v", m)
			}
			r.counts("jobs", 0, 0, 0)
		})
	}
}

// survives waits until a worker has died, or all that is left is set aside.
func survives(t *testing.T, r *rig, w *process, dead string) bool {
	t.Helper()
	for late := time.Now().Add(patience); ; {
		select {
		case <-w.ended:
			return false
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(late) {
			t.Fatalf("jobs still holds %d messages, set aside are %d", len(r.messages("jobs")), len(r.messages(dead)))
		}
		jobs, err := r.engine.Counts(t.Context(), "jobs")
		if err != nil {
			t.Fatal(err)
		}
		c, err := r.engine.Counts(t.Context(), dead)
		if err == nil && c.Visible == 1 && jobs.Visible+jobs.InFlight+jobs.Delayed == 0 {
			return true
		}
	}
}

// Killed at any moment, again and again, a worker loses nothing, and blames
// nothing that is innocent enough to be set aside.
func TestKilledAtRandom(t *testing.T) {
	t.Parallel()
	const n, kills = 300, 12
	r := newRig(t)
	// Twelve deaths that hit one and the same message, each of them half a strike,
	// are not enough.
	r.create("jobs", func(s *queue.Settings) { s.Quarantine.After, s.Retry.Attempts = kills/2+1, 2*kills })
	done := t.TempDir()
	for i := range n {
		r.send("jobs", fmt.Sprintf("message number %d", i))
	}
	s := setup{
		URL: r.url + "jobs", State: t.TempDir(), Concurrency: 3, Visibility: 2 * time.Second,
		Script: fmt.Sprintf(`cat > %s/$BEZOAR_MESSAGE_ID`, done),
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range kills {
		w := r.spawn(s)
		select {
		case <-time.After(time.Duration(30+random.IntN(200)) * time.Millisecond):
		case <-w.ended:
			t.Fatal("a worker ended by itself")
		}
		w.kill()
	}
	last := r.spawn(s)
	for deadline := time.Now().Add(3 * patience); ; <-time.After(20 * time.Millisecond) {
		c, err := r.engine.Counts(t.Context(), "jobs")
		if err != nil {
			t.Fatal(err)
		}
		if c.Visible+c.InFlight+c.Delayed == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the queue still holds %+v", c)
		}
	}
	last.term(t)
	files(t, done, n)
	if m, err := r.engine.Peek(t.Context(), "jobs-dlq", 0, 10); err == nil && len(m) > 0 {
		t.Errorf("%d innocents were set aside: %+v", len(m), m[0].Letter)
	}
}

// A state directory is one worker's.
func TestOneOwner(t *testing.T) {
	r := newRig(t)
	r.create("jobs", nil)
	state := t.TempDir()
	r.send("jobs", "a message")
	r.start(worker.Config{Source: r.source("direct", "jobs"), Command: shell("true"), State: state})
	r.waitFor(1)
	w, err := worker.New(worker.Config{Source: r.source("direct", "jobs"), Command: shell("true"), State: state})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Run(t.Context()); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("in use by process %d", os.Getpid())) {
		t.Errorf("a second owner: %v", err)
	}
}
