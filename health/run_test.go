package health

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bezoar-dev/bezoar/internal/process/procstat"
)

func TestReadinessOverALife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHealth(t, Config{}, idle())
		warm := make(chan struct{})
		err := h.Check("warm", CheckConfig{Timeout: time.Minute, Func: func(ctx context.Context) error {
			select {
			case <-warm:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		want := func(reason string) {
			t.Helper()
			if r := h.Report(); r.NotReady != reason || r.Ready != (reason == "") || !r.Alive {
				t.Fatalf("not ready %q, ready %v, alive %v, want %q", r.NotReady, r.Ready, r.Alive, reason)
			}
		}
		want("starting")
		stop := run(t, h)
		after(30 * time.Second)
		want("starting")
		close(warm)
		synctest.Wait()
		want("")
		if err := h.Run(t.Context()); err == nil {
			t.Error("Run ran twice")
		}
		h.Drain()
		want("draining")
		stop()
		want("stopped")
	})
}

// Looks are an interval apart, give or take a tenth, and not all at the same
// moment.
func TestIntervalsAreSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHealth(t, bare(), nil)
		var looks []time.Time
		err := h.Check("x", CheckConfig{Interval: 10 * time.Second, Func: func(context.Context) error {
			looks = append(looks, time.Now())
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		stop := run(t, h)
		after(10 * time.Minute)
		stop()
		if len(looks) < 54 || len(looks) > 67 || !looks[0].Equal(began) {
			t.Fatalf("%d looks in 10 minutes, the first after %v", len(looks), looks[0].Sub(began))
		}
		different := map[time.Duration]bool{}
		for i := 1; i < len(looks); i++ {
			gap := looks[i].Sub(looks[i-1])
			if gap < 9*time.Second || gap > 11*time.Second {
				t.Errorf("look %d came after %v", i, gap)
			}
			different[gap] = true
		}
		if len(different) < len(looks)/2 {
			t.Errorf("%d different gaps of %d", len(different), len(looks))
		}
	})
}

func TestACustomCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		cfg := bare()
		cfg.Log = slog.New(slog.NewTextHandler(&out, nil))
		h := newHealth(t, cfg, nil)
		h.random = func() float64 { return 0.5 }
		var result atomic.Pointer[error]
		fail := func(err error) { result.Store(&err) }
		fail(nil)
		err := h.Check("db", CheckConfig{Interval: time.Second, Calm: 3 * time.Second, Func: func(context.Context) error { return *result.Load() }})
		if err != nil {
			t.Fatal(err)
		}
		stop := run(t, h)
		step := func(want State) {
			t.Helper()
			after(time.Second)
			wantState(t, h, "db", want)
		}
		step(OK)
		fail(errSecret)
		step(OK) // once is not enough
		step(Failing)
		if c := check(t, h, "db"); c.Detail != errSecret.Error() {
			t.Errorf("%+v", c)
		}
		fail(nil)
		step(Failing)
		step(Failing)
		step(Failing)
		step(OK)
		fail(fmt.Errorf("replica lags: %w", ErrDegraded))
		step(OK)
		step(Degraded)
		if r := h.Report(); r.State != Degraded || !r.Ready {
			t.Errorf("%+v", r)
		}
		stop()
		for _, want := range []string{
			"level=WARN msg=\"health changed\" check=db from=ok to=failing", "level=INFO msg=\"health changed\" check=db from=failing to=ok",
			"check=db from=ok to=degraded",
		} {
			if n := strings.Count(out.String(), want); n != 1 {
				t.Errorf("%q is in the log %d times:\n%s", want, n, &out)
			}
		}
	})
}

func TestTheFirstLookCountsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHealth(t, bare(), nil)
		for name, optional := range map[string]bool{"db": false, "cache": true} {
			if err := h.Check(name, CheckConfig{Times: 5, Optional: optional, Func: func(context.Context) error { return errSecret }}); err != nil {
				t.Fatal(err)
			}
		}
		run(t, h)
		synctest.Wait()
		wantState(t, h, "db", Failing)
		wantState(t, h, "cache", Failing)
		if r := h.Report(); r.State != Failing || r.NotReady != "failing" {
			t.Errorf("%+v", r)
		}
		if r := h.report(map[string]bool{"db": true}); r.State != Degraded || !r.Ready || !r.Since.IsZero() {
			t.Errorf("what is optional only degrades: %+v", r)
		}
	})
}

// A check that does not come back fails, is not called again meanwhile, and
// holds up nothing: no other check, and Run no longer than its timeout.
func TestACheckThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHealth(t, bare(), nil)
		h.random = func() float64 { return 0.5 }
		release := make(chan struct{})
		var calls, others atomic.Int32
		err := errors.Join(
			h.Check("hangs", CheckConfig{Interval: 5 * time.Second, Timeout: 2 * time.Second, Times: 3, Func: func(context.Context) error {
				if calls.Add(1) == 2 {
					<-release // and its context is none of its business
				}
				return nil
			}}),
			h.Check("other", CheckConfig{Interval: 5 * time.Second, Func: func(context.Context) error { others.Add(1); return nil }}))
		if err != nil {
			t.Fatal(err)
		}
		stop := run(t, h)
		synctest.Wait()
		wantState(t, h, "hangs", OK)
		after(7 * time.Second) // called at 5, late at 7
		wantState(t, h, "hangs", OK)
		if c := check(t, h, "hangs"); !strings.Contains(c.Detail, "no answer for 2s, the timeout is 2s") {
			t.Errorf("%+v", c)
		}
		after(10 * time.Second) // late again at 12 and 17
		wantState(t, h, "hangs", Failing)
		if calls.Load() != 2 || others.Load() != 4 {
			t.Errorf("%d calls, %d of the other, want 2 and 4", calls.Load(), others.Load())
		}
		before := check(t, h, "hangs").At
		close(release)
		synctest.Wait()
		if c := check(t, h, "hangs"); c.State != Failing || c.At != before {
			t.Errorf("what comes late counts: %+v", c)
		}
		after(5 * time.Second)
		wantState(t, h, "hangs", OK)
		stop()
	})
}

func TestRunLeavesBehindWhatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHealth(t, bare(), nil)
		release, polite := make(chan struct{}), make(chan struct{})
		err := errors.Join(
			h.Check("hangs", CheckConfig{Timeout: 2 * time.Second, Func: func(context.Context) error { <-release; return nil }}),
			h.Check("polite", CheckConfig{Timeout: time.Minute, Func: func(ctx context.Context) error {
				<-ctx.Done()
				close(polite)
				return ctx.Err()
			}}))
		if err != nil {
			t.Fatal(err)
		}
		stop := run(t, h)
		after(500 * time.Millisecond)
		began := time.Now()
		stop()
		if d := time.Since(began); d != 1500*time.Millisecond {
			t.Errorf("Run ended after %v, want what was left of the timeout", d)
		}
		<-polite
		wantState(t, h, "polite", OK) // it was told to stop, and that is no illness
		close(release)
	})
}

func TestChecksThatPanicOrLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		cfg := bare()
		cfg.Log = slog.New(slog.NewTextHandler(&out, nil))
		h := newHealth(t, cfg, nil)
		err := errors.Join(
			h.Check("panics", CheckConfig{Interval: time.Second, Func: func(context.Context) error { panic("no\nway") }}),
			h.Check("leaves", CheckConfig{Interval: time.Second, Func: func(context.Context) error { runtime.Goexit(); return nil }}))
		if err != nil {
			t.Fatal(err)
		}
		stop := run(t, h)
		after(10 * time.Second)
		stop()
		for name, want := range map[string]string{"panics": "panic: no way", "leaves": "the check ended its goroutine"} {
			if c := check(t, h, name); c.State != Failing || c.Detail != want {
				t.Errorf("%+v, want %q", c, want)
			}
		}
		if !strings.Contains(out.String(), "run_test.go") {
			t.Errorf("the stack is not in the log:\n%s", &out)
		}
	})
}

func TestChecksComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		cfg := bare()
		cfg.Log = slog.New(slog.NewTextHandler(&out, nil))
		h := newHealth(t, cfg, nil)
		run(t, h)
		after(10 * time.Second)
		slow := make(chan struct{})
		c := CheckConfig{Timeout: time.Minute, Func: func(context.Context) error { <-slow; return errSecret }}
		if err := h.Check("x", c); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if r := h.Report(); !r.Ready || !r.Checks[0].Pending {
			t.Errorf("a check that is new: %+v", r)
		}
		if err := h.Check("x", c); err == nil || !strings.Contains(err.Error(), `"x" is taken`) {
			t.Error(err)
		}
		h.Remove("x")
		h.Remove("nobody")
		close(slow)
		synctest.Wait()
		if r := h.Report(); len(r.Checks) != 0 || r.State != OK || out.Len() != 0 {
			t.Errorf("%+v, and the log says %q", r, &out)
		}
		for i := range MaxChecks {
			if err := h.Check(fmt.Sprint("c", i), CheckConfig{Func: func(context.Context) error { return nil }}); err != nil {
				t.Fatal(err)
			}
		}
		if err := h.Check("more", c); err == nil || !strings.Contains(err.Error(), "there are 256 checks already") {
			t.Error(err)
		}
	})
}

func TestCheckConfig(t *testing.T) {
	h := newHealth(t, bare(), nil)
	f := func(context.Context) error { return nil }
	for _, tc := range []struct {
		name string
		cfg  CheckConfig
		want string
	}{
		{"x", CheckConfig{}, "func is nil"},
		{"x", CheckConfig{Func: f, Interval: 1}, "interval is 1ns"},
		{"x", CheckConfig{Func: f, Timeout: -1}, "timeout is -1ns"},
		{"x", CheckConfig{Func: f, Times: -1}, "times is -1"},
		{"x", CheckConfig{Func: f, Calm: -1}, "calm is -1ns"},
		{"x y", CheckConfig{Func: f}, `name is "x y"`},
	} {
		if err := h.Check(tc.name, tc.cfg); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: %v, want %q", tc.cfg, err, tc.want)
		}
	}
}

func TestTheMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := idle()
		h := newHealth(t, Config{Interval: time.Second, Disks: []Disk{{Path: "/data"}}}, m)
		run(t, h)
		after(5 * time.Second)
		if r := h.Report(); r.State != OK || !r.Ready || len(r.Checks) != 4 {
			t.Fatalf("%+v", r)
		}
		if c := check(t, h, "memory"); len(c.Measures) != 1 || math.Abs(c.Measures[0].Value-0.1) > 1e-9 ||
			*c.Measures[0].Thresholds.Failing != (Edges{0.95, 0.9}) || c.Kind != Local {
			t.Errorf("%+v", c)
		}
		for name, change := range map[string]func(share int64){
			"memory": func(s int64) { m.memory.Available = 1000 - s },
			"fds":    func(s int64) { m.self.FDs = int(s) },
			"disk":   func(s int64) { m.disk.Free, m.disk.Available = 1000-s, 1000-s },
		} {
			for _, step := range []struct {
				share int64
				want  State
			}{{100, OK}, {899, Degraded}, {990, Failing}, {951, Failing}, {899, Degraded}, {100, OK}} {
				if name == "disk" && step.share == 899 {
					step.share = 901 // its thresholds are higher
				}
				m.set(func() { change(step.share) })
				after(1200 * time.Millisecond)
				wantState(t, h, name, step.want)
			}
		}
		// Half of the limit of our group is worse than a machine without work.
		m.set(func() { m.memory.Group = procstat.GroupMem{Limit: 100, Used: 96} })
		after(1200 * time.Millisecond)
		wantState(t, h, "memory", Failing)
		if m.paths[0] != "/data" {
			t.Errorf("looked at the disk of %q", m.paths[0])
		}
	})
}

// Pressure must last, and a machine that is busy is still ready.
func TestPressureOnlyDegrades(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := idle()
		h := newHealth(t, Config{Interval: time.Second}, m)
		run(t, h)
		after(3 * time.Second)
		m.set(func() { m.cpu.CPU.Some.Avg10 = 1 })
		after(10 * time.Second)
		wantState(t, h, "cpu", OK)
		after(10 * time.Second)
		wantState(t, h, "cpu", Degraded)
		if r := h.Report(); !r.Ready || !r.Alive || r.State != Degraded {
			t.Errorf("%+v", r)
		}
		m.set(func() { m.cpu.CPU.Some.Avg10 = 0.5 })
		after(time.Minute)
		wantState(t, h, "cpu", Degraded)
		m.set(func() { m.cpu.CPU.Some.Avg10 = 0.1 })
		after(20 * time.Second)
		wantState(t, h, "cpu", OK)
	})
}

func TestWhatTheMachineDoesNotTell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := idle()
		m.err = fmt.Errorf("pressure: %w", procstat.ErrUnsupported)
		m.self = procstat.Process{FDs: procstat.Unknown}
		m.broken = errors.New("input/output error")
		h := newHealth(t, Config{Interval: time.Second}, m)
		run(t, h)
		after(5 * time.Second)
		for _, name := range []string{"cpu", "fds"} {
			if c := check(t, h, name); c.State != OK || c.Skipped == "" || len(c.Measures) != 0 || c.Pending {
				t.Errorf("%+v, want it left out", c)
			}
		}
		if c := check(t, h, "disk"); c.State != Degraded || c.Detail != "input/output error" || len(c.Measures) != 0 {
			t.Errorf("%+v", c)
		}
		if r := h.Report(); r.State != Degraded || !r.Ready {
			t.Errorf("%+v", r)
		}
		m.set(func() { m.broken = nil })
		after(2 * time.Second)
		wantState(t, h, "disk", OK)
	})
}
