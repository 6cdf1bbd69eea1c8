package supervise

import (
	"syscall"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// frozen returns a supervisor of two workers, the first of which hangs with work in flight,
// and what ends that work.
func frozen(t *testing.T) (r *running, pid int, epoch uint64, done chan struct{}) {
	t.Helper()
	r = run(t, "server", func(c *Config) { c.Replicas, c.Drain = 2, time.Millisecond })
	r.reg.wait(t, "up", 2)
	done = make(chan struct{})
	r.reg.mu.Lock()
	r.reg.busy = done
	r.reg.mu.Unlock()
	pid, epoch = r.Status()[0].PID, r.find("w-1").current().epoch()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	r.Substitute("w-1", epoch, "it has answered nothing for 3s")
	r.reg.wait(t, "up w-1", 2)
	if st := r.Status()[0]; st.State != Ready || st.PID == pid {
		t.Errorf("in its place is %+v", st)
	}
	if !lives(pid) {
		t.Error("it was killed with its work, long before its deadline")
	}
	return r, pid, epoch, done
}

// Another process takes the place of a worker that may hang. If it does, it is killed at the
// deadline of its work, and has died of that.
func TestASubstituteTakesThePlaceOfAWorkerThatHangs(t *testing.T) {
	r, pid, epoch, done := frozen(t)
	r.Kill("w-1", epoch, "a request is overdue")
	r.reg.wait(t, "down w-1", 1)
	if end := r.reg.end(); end.Planned || end.Class != bezoar.Timeout {
		t.Errorf("it ended by %+v", end)
	}
	if lives(pid) {
		t.Error("it lives")
	}
	close(done)
	if st := r.Status()[0]; st.State != Ready {
		t.Errorf("in its place is %+v", st)
	}
	r.Substitute("w-1", epoch, "again")
	r.Substitute("w-9", 1, "nobody")
	if n := r.reg.count("up"); n != 3 {
		t.Errorf("%d processes were started, want no other for one that is dead", n)
	}
}

// If it was only slow, it ends once it has finished, however long that takes.
func TestAWorkerThatWasOnlySlowFinishesBesideItsSubstitute(t *testing.T) {
	r, pid, _, done := frozen(t)
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if n := r.reg.count("down"); n != 0 {
		t.Errorf("it was taken down with its work")
	}
	close(done)
	r.reg.wait(t, "down w-1", 1)
	if end := r.reg.end(); !end.Planned {
		t.Errorf("it ended by %+v", end)
	}
	until(t, "it has ended", func() bool { return !lives(pid) })
}
