//go:build linux

package worktest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/app"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/policy/backoff"
	"github.com/bezoar-dev/bezoar/queue"
	"github.com/bezoar-dev/bezoar/worker"
)

// jobs is the queue of every rig.
const jobs = "jobs"

// rig is a store with a queue, a folder, and what runs on them.
type rig struct {
	testing.TB
	dir   string
	url   string // of the queue
	diary string // where handlers write down what they do

	plain  bool // the queue judges nothing
	shared bool // workers take folders of their own below one that they share
}

func newRig(t testing.TB) *rig {
	t.Helper()
	dir := t.TempDir()
	return &rig{TB: t, dir: dir, url: "bezoar:" + jobs, diary: filepath.Join(dir, "diary")}
}

func (r *rig) store() string { return "sqlite:" + filepath.Join(r.dir, "bezoar.db") }

// queues opens the store, which nobody else may have open.
func (r *rig) queues(do func(ctx context.Context, e *queue.Engine) error) {
	r.Helper()
	cfg, err := config.Queues(func(c *config.Config) { c.SQS, c.StateDir, c.Store = "off", "", r.store() })
	if err == nil {
		err = app.WithQueues(context.WithoutCancel(r.Context()), cfg, slog.New(slog.DiscardHandler), do)
	}
	if err != nil {
		r.Fatal(err)
	}
}

// fill makes the queue and sends bodies to it, every second good one to arrive at
// some time within over. It returns them by id.
func (r *rig) fill(bodies []string, over time.Duration) map[string]string {
	r.Helper()
	sent := map[string]string{}
	r.queues(func(ctx context.Context, e *queue.Engine) error {
		s := queue.DefaultSettings()
		s.Retry.Strategy = backoff.Immediate
		s.Retry.Cap = 2 * time.Second // when the poison at the end has used up the budget
		if r.plain {
			s.Quarantine.Off, s.DeadLetter = true, queue.DeadLetter{}
		}
		if _, err := e.CreateQueue(ctx, jobs, s, nil); err != nil {
			return err
		}
		for len(bodies) > 0 {
			n := min(len(bodies), queue.MaxBatch)
			batch := make([]queue.SendInput, n)
			for i := range batch {
				batch[i].Body = []byte(bodies[i])
				if delay := over * time.Duration(i) / time.Duration(n); over > 0 && i%2 == 1 && kindOf(bodies[i]) == "good" {
					batch[i].Delay = &delay
				}
			}
			results, err := e.SendBatch(ctx, jobs, batch)
			if err != nil {
				return err
			}
			for i, res := range results {
				if res.Err != nil {
					return res.Err
				}
				sent[res.ID] = bodies[i]
			}
			bodies = bodies[n:]
		}
		return nil
	})
	return sent
}

// letters wants the queue to be empty and returns what was set aside, by body.
func (r *rig) letters() map[string]queue.Letter {
	r.Helper()
	all := map[string]queue.Letter{}
	r.queues(func(ctx context.Context, e *queue.Engine) error {
		c, err := e.Counts(ctx, jobs)
		if err != nil {
			return err
		}
		if n := c.Visible + c.InFlight + c.Delayed; n != 0 {
			r.Errorf("%d messages are left in the queue: %+v", n, c)
		}
		for after := int64(0); ; {
			page, err := e.Peek(ctx, queue.ImplicitName(jobs), after, 100)
			if queue.CodeOf(err) == queue.ErrQueueNotFound || err == nil && len(page) == 0 {
				return nil
			}
			if err != nil {
				return err
			}
			for _, m := range page {
				if _, twice := all[string(m.Body)]; twice {
					r.Errorf("%s was set aside twice", m.Body)
				}
				all[string(m.Body)], after = *m.Letter, m.Sequence
			}
		}
	})
	return all
}

// bezoar starts a bezoar of its own; its end is sent to ended once its output is
// read.
func (r *rig) bezoar(out, errs io.Writer, args ...string) (cmd *exec.Cmd, ended chan struct{}) {
	r.Helper()
	cmd = exec.Command("/proc/self/exe", args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), bezoarVar+"=1", "DIARY="+r.diary, "GORACE=atexit_sleep_ms=0", "XDG_STATE_HOME="+r.dir)
	cmd.Stdout, cmd.Stderr = out, errs
	alive, err := cmd.StdinPipe() // it ends with us
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		r.Fatal(err)
	}
	ended = make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	r.Cleanup(func() {
		_ = alive.Close()
		<-ended
	})
	return cmd, ended
}

// serve serves the queue to SQS clients until stop is called.
func (r *rig) serve() (stop func()) {
	r.Helper()
	log := &text{more: make(chan struct{}, 1)}
	cmd, ended := r.bezoar(io.Discard, log, "serve", "--sqs", "127.0.0.1:0", "--admin", "", "--store", r.store(), "--log", "warn")
	const says = "sqs endpoint on "
	r.until(2*time.Minute, "bezoar serves", log.more, func() bool {
		_, at, ok := strings.Cut(log.String(), says)
		if line, _, whole := strings.Cut(at, "\n"); ok && whole {
			r.url = line + "/000000000000/" + jobs
			return true
		}
		return false
	})
	return sync.OnceFunc(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-ended
		if code := cmd.ProcessState.ExitCode(); code != 0 {
			r.Errorf("bezoar serve ended with %d:\n%s", code, log)
		}
	})
}

// crew is a running bezoar work.
type crew struct {
	*rig
	cmd    *exec.Cmd
	ended  chan struct{}
	log    *text
	events chan worker.Event
}

// work starts bezoar work with a handler.
func (r *rig) work(flags, handler []string) *crew {
	r.Helper()
	c := &crew{rig: r, log: &text{more: make(chan struct{}, 1)}, events: make(chan worker.Event, 1<<16)}
	read, write, err := os.Pipe()
	if err != nil {
		r.Fatal(err)
	}
	args := []string{"work", "--queue", r.url, "--json", "--output", "none", "--log", "warn", "--visibility", "5s"}
	if !r.shared {
		args = append(args, "--state", filepath.Join(r.dir, "state"))
	}
	args = append(args, flags...)
	if strings.HasPrefix(r.url, "bezoar:") {
		args = append(args, "--store", r.store())
	}
	c.cmd, c.ended = r.bezoar(write, c.log, append(append(args, "--"), handler...)...)
	_ = write.Close()
	go func() {
		defer close(c.events)
		for s := bufio.NewScanner(read); s.Scan(); {
			var e worker.Event
			if err := json.Unmarshal(s.Bytes(), &e); err != nil {
				r.Errorf("bezoar work says %s: %v", s.Bytes(), err)
				continue
			}
			c.events <- e
		}
		_ = read.Close()
	}()
	return c
}

func (c *crew) pid() int { return c.cmd.Process.Pid }

// kill is kill -9.
func (c *crew) kill() {
	_ = c.cmd.Process.Kill()
	<-c.ended
}

// idle waits until it has ended because nothing was left to do.
func (c *crew) idle() {
	c.Helper()
	select {
	case <-c.ended:
	case <-time.After(2 * time.Minute):
		c.Fatalf("bezoar work finds no end:\n%s", c.log)
	}
	if code := c.cmd.ProcessState.ExitCode(); code != 0 {
		c.Errorf("bezoar work ended with %d:\n%s", code, c.log)
	}
}

// term stops it in good order.
func (c *crew) term() {
	c.Helper()
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-c.ended:
	case <-time.After(2 * time.Minute):
		c.Fatalf("bezoar work does not stop:\n%s", c.log)
	}
	if code := c.cmd.ProcessState.ExitCode(); code != 0 {
		c.Errorf("bezoar work ended with %d:\n%s", code, c.log)
	}
}

// entry is a line of the diary: what a handler did.
type entry struct {
	what     string // begin, end
	id       string
	receives int
	pid      int
	kind     string
}

// entries reads the diary.
func (r *rig) entries() (all []entry) {
	r.Helper()
	b, err := os.ReadFile(r.diary)
	if err != nil && !os.IsNotExist(err) {
		r.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) != 5 || !strings.HasSuffix(line, "\n") {
			continue // it is being written
		}
		e := entry{what: f[0], id: f[1], kind: f[4]}
		e.receives, _ = strconv.Atoi(f[2])
		e.pid, _ = strconv.Atoi(f[3])
		all = append(all, e)
	}
	return all
}

// text is output that can be read while it is written.
type text struct {
	mu   sync.Mutex // guards buf
	buf  bytes.Buffer
	more chan struct{}
}

func (t *text) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case t.more <- struct{}{}:
	default:
	}
	return t.buf.Write(b)
}

func (t *text) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buf.String()
}

// until waits for what is true sooner or later; more may tell when to look.
func (r *rig) until(patience time.Duration, what string, more <-chan struct{}, ok func() bool) {
	r.Helper()
	over := time.After(patience)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-more:
		case <-tick.C:
		case <-over:
			r.Fatalf("gave up waiting until %s", what)
		}
	}
}

// nothingLeft wants no process of this rig, alive or dead.
func (r *rig) nothingLeft(ids map[string]string) {
	r.Helper()
	for _, p := range processes(r) {
		id, _, _ := strings.Cut(p.job, "/")
		if _, ours := ids[id]; ours {
			r.Errorf("process %v is left", p)
		}
	}
}

// filler makes bodies long enough to be recognised.
func filler(kind string, i int) string {
	return fmt.Sprintf("%s %d: a body like no other\n", kind, i)
}
