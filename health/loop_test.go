package health

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestALoopThatIsStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHealth(t, bare(), nil)
		l, err := h.Loop("writer", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		want := func(alive bool) {
			t.Helper()
			if r := h.Report(); r.Alive != alive || len(r.Loops) == 1 && r.Loops[0].Stuck == alive {
				t.Fatalf("%+v, want alive %v", r, alive)
			}
		}
		after(time.Hour) // Run has not begun, so nothing lives
		want(true)
		run(t, h)
		for range 10 {
			after(50 * time.Second)
			l.Beat()
			want(true)
		}
		after(59 * time.Second)
		want(true)
		after(3 * time.Second)
		want(false)
		if r := h.Report(); !r.Ready || r.State != OK {
			t.Errorf("only livez is about loops: %+v", r)
		}
		l.Beat()
		want(true)
		after(2 * time.Minute)
		want(false)
		l.End()
		l.End()
		want(true)
	})
}

// A process that was stopped as a whole, or starved, has no loop that is stuck.
func TestTimeThatNobodyLivedDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHealth(t, bare(), nil)
		if _, err := h.Loop("writer", 10*time.Second); err != nil {
			t.Fatal(err)
		}
		held, release := make(chan struct{}), make(chan struct{})
		h.random = func() float64 { // Run calls it: here it can be held
			close(held)
			<-release
			return 0.5
		}
		run(t, h)
		after(5 * time.Second)
		h.mu.Lock()
		h.probes = append(h.probes, &probe{entry: entry{name: "x"}, out: true, began: time.Now().Add(-time.Hour), interval: time.Hour})
		h.mu.Unlock()
		h.nudge()
		<-held
		time.Sleep(time.Hour)
		close(release)
		synctest.Wait()
		h.Remove("x")
		after(time.Second)
		if r := h.Report(); !r.Alive || r.Loops[0].SilentSeconds > 9 {
			t.Errorf("%+v", r)
		}
		after(10 * time.Second)
		if r := h.Report(); r.Alive {
			t.Errorf("%+v, want it stuck: this time was lived", r)
		}
	})
}

func TestLoopsAreChecked(t *testing.T) {
	h := newHealth(t, bare(), nil)
	for _, tc := range []struct {
		name   string
		within time.Duration
		want   string
	}{
		{"a b", time.Minute, `name is "a b"`},
		{"a", time.Second, "within is 1s"},
		{"a", 25 * time.Hour, "within is 25h"},
		{"", 0, "want 10s to 24h"},
	} {
		if _, err := h.Loop(tc.name, tc.within); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q, %v: %v, want %q", tc.name, tc.within, err, tc.want)
		}
	}
	for i := range MaxChecks {
		if _, err := h.Loop(fmt.Sprint(i), time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := h.Loop("0", time.Minute); err == nil || !strings.Contains(err.Error(), "the name is taken\nthere are 256 loops") {
		t.Error(err)
	}
}

func TestABeatAllocatesNothing(t *testing.T) {
	h := newHealth(t, bare(), nil)
	l, err := h.Loop("x", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, l.Beat); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
