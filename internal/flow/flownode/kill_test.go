//go:build linux

package flownode_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/store"
	"github.com/bezoar-dev/bezoar/internal/test/pace"
	"github.com/bezoar-dev/bezoar/policy/task"
)

func logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// script is a task that notices when another attempt of it runs, or anything that
// one has left: whatever an attempt starts holds the lock of its first process.
// Each third one leaves a process behind. While there is a file hang, all hang.
const script = `cd "$0"
exec 9>>"locks/$BEZOAR_TASK"
flock -n 9 || { echo "twice $BEZOAR_TASK $BEZOAR_ATTEMPT $$" >>journal; exit 1; }
echo "start $BEZOAR_TASK $BEZOAR_ATTEMPT $$" >>journal
case $$ in *[147]) sleep 300 & ;; esac
[ ! -e hang ] || { echo "hang $BEZOAR_TASK" >>journal; sleep 300; }
sleep 0.0$(($$ % 5))
echo "end $BEZOAR_TASK $BEZOAR_ATTEMPT $$" >>journal`

// field is a folder with what tasks write.
type field struct {
	t   *testing.T
	dir string
}

func newField(t *testing.T) field {
	t.Helper()
	f := field{t, t.TempDir()}
	if err := os.Mkdir(filepath.Join(f.dir, "locks"), 0o700); err != nil {
		t.Fatal(err)
	}
	return f
}

// lines returns what has been written of a kind, by task.
func (f field) lines(kind string) map[string]int {
	f.t.Helper()
	text, err := os.ReadFile(filepath.Join(f.dir, "journal"))
	if err != nil && !os.IsNotExist(err) {
		f.t.Fatal(err)
	}
	found := map[string]int{}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == kind {
			found[words[1]]++
		}
	}
	return found
}

// ends counts how often a task came to its end.
func (f field) ends() (n int) {
	for _, times := range f.lines("end") {
		n += times
	}
	return n
}

// check holds what was written to the law: each task came to its end, none ran
// twice at once, and nothing is left of any.
func (f field) check(tasks int) {
	f.t.Helper()
	if twice := f.lines("twice"); len(twice) > 0 {
		f.t.Errorf("these ran beside an earlier attempt: %v", twice)
	}
	if ended := f.lines("end"); len(ended) != tasks {
		f.t.Errorf("%d of %d tasks came to their end", len(ended), tasks)
	}
	locks, err := filepath.Glob(filepath.Join(f.dir, "locks", "*"))
	if err != nil {
		f.t.Fatal(err)
	}
	for _, path := range locks {
		file, err := os.Open(path)
		if err != nil {
			f.t.Fatal(err)
		}
		if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			f.t.Errorf("something of task %s still runs: %v", filepath.Base(path), err)
		}
		_ = file.Close()
	}
}

// life is a node in a process of its own.
type life struct {
	cmd  *exec.Cmd
	out  *lockedBuffer
	done chan error
}

func spawn(t *testing.T, at, dir, name string, lease time.Duration) *life {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	l := &life{cmd: exec.Command(exe), out: new(lockedBuffer), done: make(chan error, 1)}
	l.cmd.Env = append(os.Environ(), envStore+"="+at, envDir+"="+dir, envName+"="+name, envLease+"="+lease.String(), "GORACE=atexit_sleep_ms=0")
	l.cmd.Stderr, l.cmd.Stdout, l.cmd.WaitDelay = l.out, l.out, 10*time.Second
	if err := l.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { l.done <- l.cmd.Wait() }()
	t.Cleanup(l.kill)
	return l
}

// kill kills the node at once, and waits until it is gone.
func (l *life) kill() {
	_ = l.cmd.Process.Kill()
	if err, ok := <-l.done; ok {
		_ = err
		close(l.done)
	}
}

// until waits for a condition; a node that ends before that is a failure.
func (l *life) until(t *testing.T, what string, met func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(2 * time.Minute); !met(); <-tick.C {
		select {
		case err := <-l.done:
			l.done <- err
			t.Fatalf("waiting for %s, and the node has ended: %v\n%s", what, err, l.out.text())
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited for %s\n%s", what, l.out.text())
		}
	}
}

type lockedBuffer struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.Write(p)
}

func (b *lockedBuffer) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.String()
}

// scripts is a flow of so many tasks, a third of which needs two others.
func scripts(f field, tasks int) flow.Definition {
	d := flow.Definition{Name: "killed"}
	for i := range tasks {
		t := flow.Task{Name: fmt.Sprintf("t%03d", i), Command: []string{"sh", "-c", script, f.dir}}
		if i%3 == 2 {
			t.Needs = []string{fmt.Sprintf("t%03d", i-1), fmt.Sprintf("t%03d", i-2)}
		}
		d.Tasks = append(d.Tasks, t)
	}
	return d
}

// Whenever Bezoar is killed: each task runs to its end, none beside an attempt of
// its own, and nothing is left.
func TestKilled(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel() // they mostly wait
		testKilled(t, "sqlite:"+filepath.Join(t.TempDir(), "flow.db"))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		testKilled(t, newDatabase(t, postgresAt(t)))
	})
}

func testKilled(t *testing.T, at string) {
	tasks, kills := 300, 200
	if !soaking() {
		tasks, kills = 60, pace.Rounds(20, 5)
	}
	f, dir := newField(t), t.TempDir()
	id := create(t, at, scripts(f, tasks))
	t.Cleanup(func() { explain(t, at, id) })
	perLife := max(tasks/(kills+1), 1)
	for n := range kills {
		l := spawn(t, at, dir, "one", 15*time.Second)
		goal := min(f.ends()+rand.IntN(2*perLife+1), tasks-1)
		l.until(t, fmt.Sprintf("end %d in life %d", goal, n), func() bool { return f.ends() >= goal })
		l.kill()
	}
	l := spawn(t, at, dir, "one", 15*time.Second)
	l.until(t, "the last end", func() bool { return len(f.lines("end")) == tasks })
	l.kill()
	l = spawn(t, at, dir, "one", 15*time.Second) // what the last one has left
	v := finished(t, l, at, id)
	interrupted, most := 0, 0
	for _, i := range v.Instances {
		if i.State != task.Success {
			t.Errorf("task %s is %s: %s", i.Task, i.State, i.Why)
		}
		interrupted, most = interrupted+i.History.Lost, max(most, i.History.Lost)
	}
	f.check(tasks)
	t.Logf("%d tasks, %d kills: %d starts, %d attempts were cut off, of one task %d at most", tasks, kills+1, sum(f.lines("start")), interrupted, most)
}

func sum(all map[string]int) (n int) {
	for _, times := range all {
		n += times
	}
	return n
}

// create writes a run down before any node lives.
func create(t *testing.T, at string, d flow.Definition) string {
	t.Helper()
	s, err := store.Open(t.Context(), at, store.Config{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := flow.Start(t.Context(), s.Flow, flow.StartRequest{Definition: d})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return r.ID
}

// finished waits until nothing of the run is to be done, stops the node, and reads
// what became of it. A SQLite file can be read only when its owner has gone.
func finished(t *testing.T, l *life, at, id string) flow.View {
	t.Helper()
	l.until(t, "the end of the run", func() bool { return strings.Contains(l.out.text(), "ended "+id) })
	l.kill()
	s, err := store.Open(t.Context(), at, store.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	v, err := flow.Show(t.Context(), s.Flow, id)
	if err != nil {
		t.Fatal(err)
	}
	if v.Run.State != flow.RunSuccess {
		t.Errorf("the run is %s: %s", v.Run.State, v.Run.Why)
	}
	return v
}

// explain says where a run stands, if the test has failed.
func explain(t *testing.T, at, id string) {
	t.Helper()
	if !t.Failed() {
		return
	}
	s, err := store.Open(context.WithoutCancel(t.Context()), at, store.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	v, err := flow.Show(context.WithoutCancel(t.Context()), s.Flow, id)
	if err != nil {
		t.Fatal(err)
	}
	nodes, err := s.Flow.ListNodes(context.WithoutCancel(t.Context()))
	t.Logf("the run is %s on %s: %s; nodes %+v, %v", v.Run.State, v.Run.Owner, v.Run.Why, nodes, err)
	for _, i := range v.Instances {
		if i.State != task.Success {
			t.Logf("task %s is %s: %s %+v", i.Task, i.State, i.Why, i.History)
		}
	}
	for _, a := range v.Attempts {
		if a.State != flow.AttemptEnded || a.Ending.Lost {
			t.Logf("attempt %d of %s on %s is %s: %s", a.N, a.Task, a.Node, a.State, a.Ending.Reason)
		}
	}
}

// A node that is stopped beyond its lease: its tasks are killed by its guardian, the
// other node runs them again, and what the first one says when it wakes changes
// nothing.
func TestStoppedNode(t *testing.T) {
	const tasks, lease = 48, 2 * time.Second
	at, f := newDatabase(t, postgresAt(t)), newField(t)
	id := create(t, at, scripts(f, tasks))
	t.Cleanup(func() { explain(t, at, id) })
	one := spawn(t, at, t.TempDir(), "one", lease)
	one.until(t, "an end on the first node", func() bool { return f.ends() > 0 })
	hang := filepath.Join(f.dir, "hang")
	if err := os.WriteFile(hang, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	one.until(t, "a task that hangs", func() bool { return len(f.lines("hang")) > 0 })
	if err := errors.Join(one.cmd.Process.Signal(syscall.SIGSTOP), os.Remove(hang)); err != nil {
		t.Fatal(err)
	}
	two := spawn(t, at, t.TempDir(), "two", lease)
	two.until(t, "the end of the run", func() bool { return strings.Contains(two.out.text(), "ended "+id) })
	s, err := store.Open(t.Context(), at, store.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	before, err := flow.Show(t.Context(), s.Flow, id)
	if err != nil {
		t.Fatal(err)
	}
	if before.Run.State != flow.RunSuccess || before.Run.Owner != "two" {
		t.Errorf("the run is %s on node %s: %s", before.Run.State, before.Run.Owner, before.Run.Why)
	}
	if err := one.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	one.until(t, "the first node's next life", func() bool {
		nodes, err := s.Flow.ListNodes(t.Context())
		return err == nil && len(nodes) == 2 && nodes[0].Epoch > 1
	})
	after, err := flow.Show(t.Context(), s.Flow, id)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(before, after); d != "" {
		t.Errorf("a node that had lost its lease changed what was written (-before +after):\n%s", d)
	}
	lost := 0
	for _, a := range after.Attempts {
		if a.Ending.Lost {
			lost++
		}
	}
	if lost == 0 {
		t.Error("no attempt was lost: the first node was not stopped in the middle of one")
	}
	f.check(tasks)
}
