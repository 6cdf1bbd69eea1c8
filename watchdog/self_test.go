package watchdog

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// OnBreach is called once, not before the process has been up for MinUptime, and
// when the process goes on, ever more rarely and then no more.
func TestSelfIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls []time.Duration
		began := time.Now()
		cfg := Config{
			Limits: Limits{Goroutines: 100},
			Sample: func(Worker) (Sample, error) { return Sample{Goroutines: 1000}, nil },
			OnBreach: func(_ context.Context, b Breach) {
				if b.Signal != Goroutines || b.Value != 1000 || b.Limit != 100 || b.Lasted < 30*time.Second {
					t.Errorf("%+v", b)
				}
				calls = append(calls, time.Since(began).Round(time.Minute))
			},
		}
		d, err := Self(cfg)
		defer start(t, must(t, d, err))()
		time.Sleep(3 * time.Hour)
		synctest.Wait()
		if len(calls) != 3 || calls[0] != 2*time.Minute || calls[1] != 6*time.Minute || calls[2] != 14*time.Minute {
			t.Errorf("called after %v", calls)
		}
		if st := d.Status(); st.Name != "self" || st.Workers[0].State != GaveUp || st.Alarm == "" {
			t.Errorf("%+v", st)
		}
		if err := d.Update(Config{Limits: Limits{Goroutines: 2000}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(70 * time.Minute)
		if err := d.Update(cfg); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(calls) != 4 {
			t.Errorf("after calm: called after %v", calls)
		}
	})
}

func TestSelfWithoutOnBreachOnlySays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events []Event
		d, err := Self(Config{
			Name: "api", Limits: Limits{Threads: 10}, Observe: func(e Event) { events = append(events, e) },
			Sample: func(Worker) (Sample, error) { return Sample{Threads: 11}, nil },
		})
		defer start(t, must(t, d, err))()
		time.Sleep(4 * time.Minute)
		synctest.Wait()
		var said []string
		for _, e := range events {
			said = append(said, string(e.Kind)+": "+e.Text)
		}
		got := strings.Join(said, "\n")
		for _, want := range []string{
			"due: api is due for a restart and waits (it has been up for ",
			"restart: api is to end: its threads are 11, above 10 for ",
			"restarted: api was to end and goes on",
			"waits (the last restart did not help, so that it backs off)",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("want %q in\n%s", want, got)
			}
		}
	})
}

func TestSelfIsNoFleet(t *testing.T) {
	if _, err := Self(Config{Target: newHerd(1)}); err == nil {
		t.Error("a target is not for this process")
	}
	if _, err := Self(Config{For: 1}); err == nil || !strings.Contains(err.Error(), "watchdog self: for is 1ns") {
		t.Errorf("%v", err)
	}
}

// The real numbers of this process, with a breach of them.
func TestSelfMeasuresThisProcess(t *testing.T) {
	end := make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait()
	defer close(end)
	for range 500 {
		wg.Go(func() { <-end })
	}
	runtime.GC() // so that there is a live heap
	breach := make(chan Breach, 1)
	d, err := Self(Config{
		Limits: Limits{Goroutines: 400, Latency: time.Minute}, For: time.Second, Interval: 100 * time.Millisecond, MinUptime: Off,
		OnBreach: func(_ context.Context, b Breach) { breach <- b },
	})
	defer start(t, must(t, d, err))()
	select {
	case b := <-breach:
		if b.Signal != Goroutines || b.Value < 500 {
			t.Errorf("%+v", b)
		}
	case <-time.After(time.Minute):
		t.Fatalf("no breach: %+v", d.Status())
	}
	s := d.Status().Workers[0].Sample
	if s.Goroutines < 500 || s.Memory < mib || s.Heap < 10<<10 || s.Heap > s.Memory {
		t.Errorf("%+v", s)
	}
	if runtime.GOOS == "linux" && (s.Threads < 1 || s.Descriptors <= 0 || s.Descriptors > 1) {
		t.Errorf("%+v", s)
	}
}

func TestLag(t *testing.T) {
	now := time.Now()
	var l lag
	if l.take(now) != 0 {
		t.Error("it does not run")
	}
	l.began = now
	l.due.Store(int64(time.Second))
	if got := l.take(now.Add(500 * time.Millisecond)); got != 0 {
		t.Errorf("%v before it is due", got)
	}
	if got := l.take(now.Add(3 * time.Second)); got != 2*time.Second {
		t.Errorf("%v while it is 2s late", got)
	}
	l.worst.Store(int64(time.Minute))
	if got := l.take(now); got != time.Minute {
		t.Errorf("%v, want the worst", got)
	}
	if got := l.take(now); got != 0 {
		t.Errorf("%v, though it was taken", got)
	}
	synctest.Test(t, func(t *testing.T) {
		l := &lag{}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); l.run(ctx) }()
		time.Sleep(time.Minute)
		if got := l.take(time.Now()); got != 0 { // virtual time is never late
			t.Errorf("%v", got)
		}
		l.worst.Store(int64(time.Hour))
		time.Sleep(time.Second)
		if got := l.take(time.Now()); got != time.Hour {
			t.Errorf("%v: the worst was forgotten", got)
		}
		cancel()
		<-done
		if got := l.take(time.Now().Add(time.Hour)); got != 0 {
			t.Errorf("%v after its end", got)
		}
	})
}
