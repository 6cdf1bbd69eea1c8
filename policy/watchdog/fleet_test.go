package watchdog

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// stage plays a fleet in virtual time: workers by name, sampled every 5 s.
type stage struct {
	t       *testing.T
	fleet   Fleet
	now     time.Time
	workers []Worker
	held    string
	asked   []string // who was restarted, in order
	// cure is what a restart does to a worker's next life.
	cure func(*Worker)
}

const every = 5 * time.Second

func newStage(t *testing.T, c Config, n int) *stage {
	t.Helper()
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	s := &stage{t: t, fleet: Fleet{Config: c}, now: time.Unix(1_000_000, 0)}
	for i := range n {
		s.workers = append(s.workers, Worker{
			Name: fmt.Sprintf("w-%d", i+1), Life: uint64(i + 1), Up: s.now.Add(-time.Hour), Serving: true, Sample: Sample{Memory: 100 * mib},
		})
	}
	s.cure = func(w *Worker) { w.Sample.Memory = 100 * mib }
	return s
}

// run plays for d, with restarts that take one step.
func (s *stage) run(d time.Duration) (last Decision) {
	s.t.Helper()
	for end := s.now.Add(d); s.now.Before(end); {
		last = s.step()
		if last.Action == Restart {
			s.restart(last.Worker, true)
		}
	}
	return last
}

func (s *stage) step() Decision {
	s.now = s.now.Add(every)
	d := s.fleet.Step(s.now, Scene{Workers: slices.Clone(s.workers), Held: s.held})
	if d.Action == Restart {
		s.asked = append(s.asked, d.Worker)
	}
	return d
}

// restart ends a restart.
func (s *stage) restart(name string, ok bool) {
	s.now = s.now.Add(every)
	if w := s.worker(name); ok {
		w.Life += 1000
		w.Up = s.now
		s.cure(w)
	}
	s.fleet.Done(s.now, name, ok)
}

func (s *stage) worker(name string) *Worker {
	i := slices.IndexFunc(s.workers, func(w Worker) bool { return w.Name == name })
	return &s.workers[i]
}

// leak puts workers above the limit.
func (s *stage) leak(names ...string) {
	for _, n := range names {
		s.worker(n).Sample.Memory = 900 * mib
	}
}

func (s *stage) status(name string) WorkerStatus {
	s.t.Helper()
	for _, w := range s.fleet.Status().Workers {
		if w.Name == name {
			return w
		}
	}
	s.t.Fatalf("no worker %s", name)
	return WorkerStatus{}
}

// want checks who was restarted.
func (s *stage) want(asked ...string) {
	s.t.Helper()
	if !slices.Equal(s.asked, asked) {
		s.t.Fatalf("restarted %v, want %v", s.asked, asked)
	}
}

func limited() Config { return Config{Limits: Limits{Memory: 512 * mib}} }

func TestABreachHasToLast(t *testing.T) {
	s := newStage(t, limited(), 4)
	s.leak("w-2")
	s.run(20 * time.Second)
	if st := s.status("w-2"); st.State != Over || st.Breach.Signal != Memory || st.Breach.Value != 900*mib || st.Breach.Limit != 512*mib {
		t.Errorf("%+v", st)
	}
	s.cure(s.worker("w-2")) // by itself
	s.run(time.Hour)
	s.want()
	s.leak("w-2")
	for s.step().Action == Idle {
	}
	s.want("w-2")
	if b := s.status("w-2").Breach; b.Lasted != 30*time.Second || b.String() != "memory is 900 MiB, above 512 MiB for 30s" {
		t.Errorf("%v after %v", b, b.Lasted)
	}
	s.restart("w-2", true)
	s.run(24 * time.Hour)
	s.want("w-2")
	if st := s.fleet.Status(); st.Restarts != 1 || st.Useless != 0 || st.Recent != 0 || st.Alarm != "" || st.State != OK {
		t.Errorf("%+v", st)
	}
}

// Two samples far apart say nothing about what was between them.
func TestSilenceBeginsAnew(t *testing.T) {
	s := newStage(t, limited(), 4)
	s.leak("w-2")
	s.run(20 * time.Second)
	s.now = s.now.Add(10 * time.Minute) // the machine slept
	s.run(25 * time.Second)
	s.want()
	s.now = s.now.Add(-time.Hour) // the clock was set
	s.run(25 * time.Second)
	s.want()
	s.run(15 * time.Second)
	s.want("w-2")
}

// Two samples are no breach, however far apart.
func TestABreachHasToBeSeenThreeTimes(t *testing.T) {
	s := newStage(t, limited(), 4)
	s.leak("w-2")
	for i := range 3 {
		s.now = s.now.Add(35 * time.Second)
		if d := s.step(); (d.Action == Restart) != (i == 2) {
			t.Errorf("sample %d: %+v", i+1, d)
		}
	}
}

// A worker that has done well for long begins with a clean slate.
func TestStrikes(t *testing.T) {
	s := newStage(t, Config{Limits: Limits{Memory: 512 * mib}}, 4)
	s.cure = func(*Worker) {}
	s.leak("w-2")
	s.run(2 * time.Minute)
	s.want("w-2")
	s.worker("w-2").Sample.Memory = mib
	s.run(time.Minute)
	if n := s.status("w-2").Strikes; n != 1 {
		t.Errorf("%d strikes", n)
	}
	s.run(10 * time.Minute)
	if n := s.status("w-2").Strikes; n != 0 {
		t.Errorf("%d strikes after a long good life", n)
	}
	s.leak("w-2")
	s.run(40 * time.Second)
	s.want("w-2", "w-2")
}

func TestBackoffIsBounded(t *testing.T) {
	for _, c := range []Config{{}, {MinUptime: Off}, {MinUptime: 24 * time.Hour}} {
		c = c.WithDefaults()
		last := time.Duration(0)
		for strikes := range 101 {
			wait := c.backoff(strikes)
			if wait < last || wait > c.MaxBackoff || wait < c.MinUptime {
				t.Fatalf("%+v: %v after %d strikes, before %v", c, wait, strikes, last)
			}
			last = wait
		}
		if last != c.MaxBackoff {
			t.Errorf("%v at most, want %v", last, c.MaxBackoff)
		}
	}
}

func TestEverySignal(t *testing.T) {
	for _, tc := range []struct {
		signal Signal
		limits Limits
		sample Sample
		want   string
	}{
		{Memory, Limits{Memory: 1 << 30}, Sample{Memory: 3 << 29}, "memory is 1.5 GiB, above 1 GiB for 30s"},
		{Descriptors, Limits{}, Sample{Descriptors: 0.9375}, "descriptors are 93.8 %, above 90 % for 30s"},
		{Threads, Limits{Threads: 500}, Sample{Threads: 501}, "threads are 501, above 500 for 30s"},
	} {
		s := newStage(t, Config{Limits: tc.limits}, 4)
		s.worker("w-3").Sample = tc.sample
		var d Decision
		for d.Action == Idle {
			d = s.step()
		}
		if d.Action != Restart || d.Worker != "w-3" || d.Breach.Signal != tc.signal || d.Breach.String() != tc.want {
			t.Errorf("%v: %+v, %v", tc.signal, d, d.Breach)
		}
		if s.now.Sub(d.Breach.Since) != 30*time.Second {
			t.Errorf("%v: since %v", tc.signal, s.now.Sub(d.Breach.Since))
		}
	}
}

func TestGrowthIsFound(t *testing.T) {
	s := newStage(t, Config{Limits: Limits{Growth: 256 * mib}}, 3)
	var d Decision
	began := s.now
	for d.Action == Idle && s.now.Sub(began) < time.Hour {
		grown := int64(s.now.Sub(began).Seconds() * mib / 10) // 360 MiB per hour
		s.worker("w-1").Sample = Sample{Memory: 100*mib + grown}
		d = s.step()
	}
	if took := s.now.Sub(began); d.Worker != "w-1" || d.Breach.Signal != Growth || took > 11*time.Minute+30*time.Second {
		t.Errorf("after %v: %+v", took, d)
	}
	if d.Breach.Value < 350*mib || d.Breach.Value > 370*mib {
		t.Errorf("%v", d.Breach)
	}
	s.restart("w-1", true)
	s.step()
	if st := s.status("w-1"); st.Growth != 0 {
		t.Errorf("the new life inherits %+v", st)
	}
}

// One at a time, and the one that has waited longest first.
func TestOneAtATime(t *testing.T) {
	s := newStage(t, limited(), 8)
	s.leak("w-5")
	s.run(every)
	s.leak("w-1", "w-3")
	for s.step().Action != Restart {
	}
	s.want("w-5")
	for range 20 {
		if d := s.step(); d.Action != Wait || d.Why != "w-5 is being restarted, and they are restarted one at a time" && d.Worker != "w-5" {
			t.Fatalf("%+v", d)
		}
	}
	if st := s.fleet.Status(); st.State != Restarting || st.Restarting != "w-5" || st.Useless != 0 || s.status("w-5").Strikes != 0 {
		t.Errorf("nobody knows yet whether it helps: %+v", st)
	}
	s.restart("w-5", true)
	s.run(time.Minute)
	s.want("w-5", "w-1", "w-3")
}

// What a worker waits for, each rule alone.
func TestRules(t *testing.T) {
	for _, tc := range []struct {
		name  string
		n     int
		edit  func(*stage)
		why   string // "" means it is restarted
		until bool
	}{
		{"nothing", 4, func(*stage) {}, "", false},
		{"a rollout", 4, func(s *stage) { s.held = "a rolling restart is under way" }, "a rolling restart is under way", false},
		{"the only worker", 1, func(*stage) {}, "only 1 of 1 workers serve, and at least 2 must", false},
		{"two workers", 2, func(*stage) {}, "", false},
		{"two, of which one serves", 2, func(s *stage) { s.worker("w-2").Serving = false }, "only 1 of 2 workers serve, and at least 2 must", false},
		{"three, of which two serve", 3, func(s *stage) { s.worker("w-3").Serving = false }, "1 of 3 workers are away already, the limit is 1", false},
		{"it is the one that does not serve", 3, func(s *stage) { s.worker("w-1").Serving = false }, "", false},
		{"eight, of which seven serve", 8, func(s *stage) { s.worker("w-3").Serving = false }, "", false},
		{"eight, of which six serve", 8, func(s *stage) {
			s.worker("w-3").Serving, s.worker("w-4").Serving = false, false
		}, "2 of 8 workers are away already, the limit is 2", false},
		{"one that is down", 4, func(s *stage) {
			*s.worker("w-3") = Worker{Name: "w-3"}
		}, "1 of 4 workers are away already, the limit is 1", false},
		{"young", 4, func(s *stage) { s.worker("w-1").Up = s.now }, "it has been up for only 40s", true},
		{"old enough", 4, func(s *stage) { s.worker("w-1").Up = s.now.Add(-2 * time.Minute) }, "", false},
	} {
		s := newStage(t, limited(), tc.n)
		tc.edit(s)
		s.leak("w-1")
		var d Decision
		for range 8 {
			if d = s.step(); d.Action == Restart {
				break
			}
		}
		if (d.Action == Restart) != (tc.why == "") || d.Why != tc.why || d.Worker != "w-1" || d.Until.IsZero() == tc.until {
			t.Errorf("%s: %+v, want %q", tc.name, d, tc.why)
		}
		if tc.why == "" {
			continue
		}
		if st := s.status("w-1"); st.State != Due || st.Why != tc.why || !st.Until.Equal(d.Until) {
			t.Errorf("%s: %+v", tc.name, st)
		}
	}
}

// Restarts that do not help are made more and more rarely, and then no more.
func TestAWorkerIsGivenUp(t *testing.T) {
	s := newStage(t, limited(), 4)
	s.cure = func(*Worker) {}
	s.leak("w-2")
	var at []time.Duration
	began := s.now
	for s.now.Sub(began) < 30*time.Minute {
		if d := s.step(); d.Action == Restart {
			at = append(at, s.now.Sub(began).Round(10*time.Second))
			s.restart(d.Worker, true)
		}
	}
	if want := []time.Duration{40 * time.Second, 280 * time.Second, 770 * time.Second}; !slices.Equal(at, want) {
		t.Fatalf("restarts after %v, want %v", at, want)
	}
	st := s.fleet.Status()
	if st.Alarm != "gave up on w-2: restarts do not help" || st.Useless != 3 || st.State != OK {
		t.Errorf("%+v", st)
	}
	if w := s.status("w-2"); w.State != GaveUp || w.Strikes != 3 || w.Why != "3 restarts in a row did not help" || w.Breach == nil {
		t.Errorf("%+v", w)
	}
	s.leak("w-1") // the others are still watched
	s.cure = func(w *Worker) { w.Sample.Memory = mib }
	s.run(time.Minute)
	s.want("w-2", "w-2", "w-2", "w-1")

	// A breach that goes on is no calm.
	s.run(24 * time.Hour)
	s.want("w-2", "w-2", "w-2", "w-1")
	s.worker("w-2").Sample.Memory = mib
	s.run(time.Hour + every)
	if w := s.status("w-2"); w.State != OK || w.Strikes != 0 || s.fleet.Status().Alarm != "" {
		t.Errorf("after an hour of calm: %+v", w)
	}
	s.leak("w-2")
	s.run(time.Minute)
	s.want("w-2", "w-2", "w-2", "w-1", "w-2")
}

func TestAnOperatorClears(t *testing.T) {
	s := newStage(t, Config{Limits: Limits{Memory: 512 * mib}, Strikes: 1}, 4)
	s.cure = func(*Worker) {}
	s.leak("w-2")
	s.run(2 * time.Hour)
	s.want("w-2")
	if s.fleet.Clear("w-1") || !s.fleet.Clear("w-2") || s.fleet.Clear("w-2") || s.fleet.Clear("") {
		t.Error("what there is to clear")
	}
	s.run(time.Hour)
	s.want("w-2", "w-2")
	if !s.fleet.Clear("") {
		t.Error("there is something to clear")
	}
}

// The budget of an hour bounds restarts that help, with an alarm and a time.
func TestBudget(t *testing.T) {
	s := newStage(t, limited(), 10)
	for i := range 10 {
		s.leak(s.workers[i].Name)
	}
	d := s.run(10 * time.Minute)
	if len(s.asked) != 6 {
		t.Fatalf("%v", s.asked)
	}
	if d.Action != Wait || d.Why != "the budget of 6 restarts an hour is spent" || d.Until.Sub(s.now) < 45*time.Minute {
		t.Errorf("%+v", d)
	}
	st := s.fleet.Status()
	if st.Alarm != "the budget of 6 restarts an hour is spent: w-7, w-8, w-9 and 1 more must wait" || st.State != OK || st.Recent != 6 || st.PerHour != 6 {
		t.Errorf("%+v", st)
	}
	s.run(time.Hour)
	if len(s.asked) != 10 || s.fleet.Status().Alarm != "" {
		t.Errorf("%v, %q", s.asked, s.fleet.Status().Alarm)
	}
}

// A build that breaches at once after every start makes the watchdog stop.
func TestTheFleetIsGivenUp(t *testing.T) {
	s := newStage(t, limited(), 8)
	s.cure = func(*Worker) {}
	for i := range 8 {
		s.leak(s.workers[i].Name)
	}
	d := s.run(100 * time.Hour)
	if len(s.asked) != 6 || d.Action != GiveUp {
		t.Fatalf("restarted %v, now %+v", s.asked, d)
	}
	st := s.fleet.Status()
	if st.State != GaveUp || st.Since.IsZero() || !strings.HasPrefix(st.Alarm, "gave up on the whole fleet: the budget of 6 restarts an hour is spent, and ") {
		t.Errorf("%+v", st)
	}
	if w := s.status("w-7"); w.State != Due || !strings.HasSuffix(w.Why, "did not help") {
		t.Errorf("%+v", w)
	}
	for i := range s.workers { // a new build
		s.workers[i].Life += 1000
		s.workers[i].Up = s.now
		s.workers[i].Sample.Memory = mib
	}
	s.run(time.Hour + time.Minute)
	if st := s.fleet.Status(); st.State != OK || st.Alarm != "" {
		t.Errorf("after an hour of calm: %+v", st)
	}
}

// A restart that fails counts, and the old life goes on.
func TestARestartThatFails(t *testing.T) {
	s := newStage(t, limited(), 4)
	s.leak("w-2")
	for s.now.Sub(time.Unix(1_000_000, 0)) < 2*time.Hour {
		if d := s.step(); d.Action == Restart {
			s.restart(d.Worker, false)
		}
	}
	s.want("w-2", "w-2", "w-2")
	if st := s.fleet.Status(); st.Failed != 3 || s.status("w-2").State != GaveUp {
		t.Errorf("%+v", st)
	}
	s.fleet.Done(s.now, "w-2", true) // nobody asked
	if st := s.fleet.Status(); st.Failed != 3 {
		t.Errorf("%+v", st)
	}
}

func TestWorkersThatAreGoneAreForgotten(t *testing.T) {
	s := newStage(t, limited(), 4)
	for i := range 10_000 {
		s.workers = s.workers[:0]
		for j := range 3 {
			s.workers = append(s.workers, Worker{Name: fmt.Sprint(i, j), Life: 1, Up: s.now})
		}
		s.step()
	}
	if len(s.fleet.workers) != 3 || len(s.fleet.Status().Workers) != 3 {
		t.Errorf("%d are known", len(s.fleet.workers))
	}
	s.workers = make([]Worker, 2*MaxWorkers)
	for i := range s.workers {
		s.workers[i].Name = fmt.Sprint(i)
	}
	s.step()
	if len(s.fleet.workers) != MaxWorkers {
		t.Errorf("%d are known", len(s.fleet.workers))
	}
}

func TestValidate(t *testing.T) {
	for _, tc := range []struct {
		c    Config
		want string
	}{
		{Config{Limits: Limits{Memory: -1}}, "limits: memory is -1"},
		{Config{Limits: Limits{Descriptors: 1.5}}, "limits: descriptors is 1.5"},
		{Config{Limits: Limits{Growth: 1}}, "limits: growth is 1 B per hour, which is noise in any window: want 227.6 KiB per hour or more"},
		{Config{Limits: Limits{Growth: mib}, Window: 10 * time.Minute}, "in which 1 MiB per hour is noise: want 5h20m0s or more"},
		{Config{For: time.Millisecond}, "for is 1ms"},
		{Config{Window: time.Second}, "window is 1s"},
		{Config{Share: 0.6}, "share is 0.6"},
		{Config{MinUptime: -2}, "min uptime is -2ns"},
		{Config{MinUptime: time.Hour, MaxBackoff: time.Minute}, "max backoff is 1m0s"},
		{Config{PerHour: -1}, "per hour is -1"},
		{Config{Strikes: 101}, "strikes is 101"},
		{Config{Calm: time.Second}, "calm is 1s"},
	} {
		if err := tc.c.Validate(); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: %v, want %q", tc.c, err, tc.want)
		}
	}
	for _, c := range []Config{{}, {MinUptime: Off}, {Limits: Limits{Growth: mib}}, {MinUptime: 24 * time.Hour}} {
		if err := c.Validate(); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if w := (Config{Limits: Limits{Growth: mib}}).WithDefaults().Window; w != 16*time.Hour {
		t.Errorf("the window of 1 MiB per hour is %v", w)
	}
}
