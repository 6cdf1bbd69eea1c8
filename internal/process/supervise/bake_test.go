package supervise

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// ever is a bake that only answers end.
func ever(c *Config) {
	c.Replicas, c.Bake = 3, Bake{Requests: 10, Time: time.Hour}
}

// roll begins a rolling restart.
func (r *running) roll() <-chan error {
	done := make(chan error, 1)
	go func() { done <- r.Restart(context.Background()) }()
	return done
}

// killBaking has the n-th process that bakes in w-1 die of a request.
func (r *running) killBaking(n int) {
	r.t.Helper()
	r.reg.wait(r.t, "bake w-1 true", n)
	_, _ = r.get("w-1", "/exit?code=9&say=swallowed")
	r.reg.wait(r.t, "bake w-1 false", n)
}

// answers has the registry say that all lives of a worker have answered so much.
func (r *running) answers(worker string, n uint64) {
	r.reg.mu.Lock()
	defer r.reg.mu.Unlock()
	r.reg.answered[worker] = n
}

func (r *running) processes() (pids []int) {
	for _, st := range r.Status() {
		pids = append(pids, st.PID)
	}
	return pids
}

// A build that is ready and dies of its requests costs two processes and no
// worker: the old ones are the same processes afterwards.
func TestABuildThatDiesInItsBake(t *testing.T) {
	r := run(t, "server", ever)
	r.reg.wait(t, "up", 3)
	before := r.processes()
	done := r.roll()
	r.killBaking(1)
	r.killBaking(2)
	err := <-done
	for _, want := range []string{"stopped at worker w-1", "0 of 3 replaced", "2 new processes ended", "exit code 9", "swallowed"} {
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("Restart = %v, want %q in it", err, want)
		}
	}
	if now := r.processes(); fmt.Sprint(now) != fmt.Sprint(before) {
		t.Errorf("processes %v before, %v now", before, now)
	}
	if len(r.reg.live) != 3 || r.reg.addr("w-1") != fmt.Sprintf("127.0.0.1:%d", r.Status()[0].Port) {
		t.Errorf("up are %v, w-1 at %s and %+v", r.reg.live, r.reg.addr("w-1"), r.Status()[0])
	}
	if st, ok := r.Rollout(); !ok || st.State != RolloutStopped || st.Tries != 2 || st.Worker != "w-1" || st.Why == "" || st.Number != 1 {
		t.Errorf("rollout %+v, %v", st, ok)
	}
	// The one that took its place back is looked after as before.
	_, _ = r.get("w-1", "/exit?code=3")
	r.reg.wait(t, "down w-1 crash", 3)
	if end := r.reg.end(); end.ExitCode != 3 {
		t.Errorf("end %+v", end)
	}
}

func TestABakeThatIsPassed(t *testing.T) {
	for name, edit := range map[string]func(*Config){
		"by requests": func(c *Config) { c.Bake = Bake{Requests: 10, Time: time.Hour} },
		"by time":     func(c *Config) { c.Bake = Bake{Requests: 1000, Time: 300 * time.Millisecond} },
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, "server", func(c *Config) { c.Replicas = 2; edit(c) })
			r.reg.wait(t, "up", 2)
			before := r.processes()
			r.answers("w-1", 10)
			r.answers("w-2", 10)
			done := r.roll()
			r.reg.wait(t, "bake w-1 true", 1)
			if !lives(before[0]) {
				t.Error("the old process was not kept")
			}
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			for _, pid := range before {
				if lives(pid) {
					t.Errorf("the old process %d lives", pid)
				}
			}
			if st, _ := r.Rollout(); st.State != RolloutDone || st.Replaced != 2 {
				t.Errorf("rollout %+v", st)
			}
		})
	}
}

// One death may be the work's doing: the next process gets its chance. Workers of
// the old version that die too excuse more, up to a bound. What starts in their place
// is not the lane before a new process has proven itself.
func TestDeathsThatWorkersOfTheOldVersionShare(t *testing.T) {
	r := run(t, "server", ever)
	r.reg.wait(t, "up", 3)
	done := r.roll()
	for i, old := range []string{"w-2", "w-3"} {
		r.killBaking(i + 1)
		_, _ = r.get(old, "/exit?code=9")
		r.reg.wait(t, "up "+old, 2)
		r.reg.wait(t, "bake "+old+" true", 1)
	}
	r.reg.wait(t, "bake w-1 true", 3)
	for _, w := range []string{"w-1", "w-2", "w-3"} {
		r.answers(w, 10)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if st, _ := r.Rollout(); st.State != RolloutDone || st.Replaced != 3 {
		t.Errorf("rollout %+v", st)
	}
	for _, old := range []string{"w-2", "w-3"} {
		r.reg.wait(t, "bake "+old+" false", 2) // when w-1 has proven itself, and when it has
	}
}

// A process that looks sick has not proven itself.
func TestASickProcessInItsBake(t *testing.T) {
	r := run(t, "server", func(c *Config) {
		ever(c)
		c.Health.Path, c.Health.Interval = "/healthz", 10*time.Millisecond
	})
	r.reg.wait(t, "up", 3)
	before := r.processes()
	done := r.roll()
	for i := range 2 {
		r.reg.wait(t, "bake w-1 true", i+1)
		r.mustGet("w-1", "/status?code=500")
		r.reg.wait(t, "bake w-1 false", i+1)
	}
	if err := <-done; err == nil || !strings.Contains(err.Error(), "it is sick") {
		t.Errorf("Restart = %v", err)
	}
	if now := r.processes(); fmt.Sprint(now) != fmt.Sprint(before) {
		t.Errorf("processes %v before, %v now", before, now)
	}
	if end := r.reg.end(); !end.Planned || end.Detail != "it did not prove itself" {
		t.Errorf("the end of the sick one is %+v", end)
	}
}

// While a new version has not proven itself, workers that die start with the old
// one, and go on doing so when the restart has stopped.
func TestWorkersThatDieStartWithWhatIsProven(t *testing.T) {
	r := run(t, "server", ever)
	r.reg.wait(t, "up", 3)
	is := func(worker string) string {
		if strings.Contains(r.mustGet(worker, "/about"), "\nCOLOUR=blue") {
			return "new"
		}
		return "old"
	}
	if !r.update(func(c *Config) { c.Env, c.Replicas = append(c.Env, "COLOUR=blue"), 4 }) {
		t.Fatal("new settings need no restart")
	}
	r.reg.wait(t, "up w-4", 1)
	done := r.roll()
	r.reg.wait(t, "bake w-1 true", 1)
	if got := is("w-1") + is("w-4"); got != "newold" {
		t.Errorf("w-1 and w-4 are %s", got)
	}
	_, _ = r.get("w-3", "/exit?code=9")
	r.reg.wait(t, "up w-3", 2)
	if is("w-3") != "old" {
		t.Error("w-3 started with what is not proven")
	}
	r.killBaking(1)
	r.killBaking(2)
	r.killBaking(3) // w-3 has excused the first
	if err := <-done; err == nil {
		t.Fatal("the restart went on")
	}
	ups := r.reg.count("up w-1")
	_, _ = r.get("w-1", "/exit?code=9")
	r.reg.wait(t, "up w-1", ups+1)
	if is("w-1") != "old" || !r.Outdated() {
		t.Error("w-1 started with what did not prove itself")
	}
	ups = r.reg.count("up w-2")
	r.Substitute("w-2", r.find("w-2").current().epoch(), "it has answered nothing for 3s")
	r.reg.wait(t, "up w-2", ups+1)
	if is("w-2") != "old" {
		t.Error("what took the place of w-2 started with what did not prove itself")
	}
	if r.update(func(c *Config) { c.Drain = time.Minute }) {
		t.Error("another setting has the build tried again that did not prove itself")
	}
	if r.update(func(c *Config) { c.Env = c.Env[:len(c.Env)-1] }) {
		t.Error("going back needs a restart")
	}
	if st, _ := r.Rollout(); st.State != RolloutReverted {
		t.Errorf("after going back %+v", st)
	}
}

// The settings may change again while a process bakes.
func TestNewerSettingsDuringABake(t *testing.T) {
	r := run(t, "server", ever)
	r.reg.wait(t, "up", 3)
	pid := r.pid("w-1")
	colour := func(c string) {
		r.update(func(cfg *Config) { cfg.Env = append(cfg.Env, "COLOUR="+c) })
	}
	colour("red")
	done := r.roll()
	r.reg.wait(t, "bake w-1 true", 1)
	colour("blue")
	r.reg.wait(t, "bake w-1 true", 2)
	if !strings.Contains(r.mustGet("w-1", "/about"), "\nCOLOUR=blue") || !lives(pid) {
		t.Error("w-1 does not try the newest settings beside the old process")
	}
	for _, w := range []string{"w-1", "w-2", "w-3"} {
		r.answers(w, 10)
	}
	if err := <-done; err != nil || r.Outdated() {
		t.Errorf("%v, outdated %v", err, r.Outdated())
	}
}

// Everything may end while a process bakes: nothing is left of it or of the one
// that waits.
func TestTheEndDuringABake(t *testing.T) {
	r := run(t, "server", ever)
	r.reg.wait(t, "up", 3)
	done := r.roll()
	r.reg.wait(t, "bake w-1 true", 1)
	r.stop()
	if err := <-done; err == nil {
		t.Error("the restart says that it is done")
	}
}

// In a fleet of one the old process waits too.
func TestABakeInAFleetOfOne(t *testing.T) {
	r := run(t, "server", func(c *Config) { ever(c); c.Replicas = 1 })
	r.reg.wait(t, "up", 1)
	pid := r.pid("w-1")
	done := r.roll()
	r.killBaking(1)
	r.killBaking(2)
	if err := <-done; err == nil || r.pid("w-1") != pid {
		t.Errorf("%v; process %d before, %d now", err, pid, r.pid("w-1"))
	}
}

// What stops a restart, in numbers.
func TestTheRuleOfRollouts(t *testing.T) {
	old := &life{began: time.Unix(1, 0)}
	target := &Config{}
	old.cfg.Store(target)
	try := func(r *rollout, answered uint64) {
		r.begin()
		r.fail(&failure{answered: answered, took: time.Second})
	}
	for name, tc := range map[string]struct {
		do   func(r *rollout, young *life)
		want string
	}{
		"one death":                  {func(r *rollout, _ *life) { try(r, 0) }, ""},
		"two deaths":                 {func(r *rollout, _ *life) { try(r, 0); try(r, 50) }, "2 new processes"},
		"an old one died in between": {func(r *rollout, _ *life) { try(r, 0); r.died(old); try(r, 0) }, ""},
		"an old one died afterwards": {func(r *rollout, _ *life) { try(r, 0); try(r, 0); r.died(old) }, ""},
		"an old one died before":     {func(r *rollout, _ *life) { r.died(old); try(r, 0); try(r, 0) }, "2 new processes"},
		"two after it":               {func(r *rollout, _ *life) { try(r, 0); r.died(old); try(r, 0); try(r, 0) }, "2 new processes"},
		"too often": {func(r *rollout, _ *life) {
			for range 4 {
				try(r, 0)
				r.died(old)
			}
		}, "may not be the cause"},
		"one that was replaced before": {func(r *rollout, young *life) { try(r, 0); r.died(young) }, "2 new processes"},
		"each in its place":            {func(r *rollout, _ *life) { try(r, 0); r.place("w-2"); try(r, 0) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRollout(1, 3, target)
				r.place("w-1")
				young := &life{began: time.Now().Add(time.Second)}
				young.cfg.Store(target)
				tc.do(r, young)
				if got := r.verdict(t.Context()); (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
					t.Errorf("verdict %q, want %q in it", got, tc.want)
				}
			})
		})
	}
	r := newRollout(1, 3, target)
	r.place("w-1")
	try(r, 40)
	if got := r.credit(); got.answered != 0 {
		t.Errorf("what nothing explains counts: %+v", got)
	}
	r.died(old)
	if got := r.credit(); got.answered != 40 || got.took != time.Second {
		t.Errorf("what is explained does not count: %+v", got)
	}
}

// When only the files behind the command have changed, a worker that dies after
// the restart has stopped has nothing else to start with: it waits while the others
// can do without it.
func TestAWorkerWithNothingButADoubtfulBuild(t *testing.T) {
	r := run(t, "server", ever)
	r.reg.wait(t, "up", 3)
	if wait := r.find("w-1").pause(0); wait >= doubtfulPause {
		t.Errorf("before any restart it waits %v", wait)
	}
	done := r.roll()
	r.killBaking(1)
	r.killBaking(2)
	if err := <-done; err == nil {
		t.Fatal("the restart went on")
	}
	if wait := r.find("w-1").pause(0); wait < doubtfulPause {
		t.Errorf("it waits %v", wait)
	}
	// The two that are left wait for a minute; the last of three would not.
	_, _ = r.get("w-1", "/exit?code=9")
	until(t, "w-1 waits", func() bool { return r.Status()[0].State == Down })
	_, _ = r.get("w-2", "/exit?code=9")
	until(t, "w-2 waits", func() bool { return r.Status()[1].State == Down })
	if wait := r.find("w-3").pause(0); wait >= doubtfulPause {
		t.Errorf("with nobody else up it waits %v", wait)
	}
	// Whoever restarts the fleet wakes them.
	for _, w := range []string{"w-1", "w-2", "w-3"} {
		r.answers(w, 10)
	}
	if err := r.Restart(t.Context()); err != nil {
		t.Error(err)
	}
	if wait := r.find("w-1").pause(0); wait >= doubtfulPause {
		t.Errorf("after a restart that went well it waits %v", wait)
	}
}
