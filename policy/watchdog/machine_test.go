package watchdog

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// machine plays whatever may happen to a fleet and holds the rules against what
// is decided.
type machine struct {
	c       Config
	f       Fleet
	now     time.Time
	workers []Worker
	held    string
	busy    string
	begun   []time.Time
	last    map[string]time.Time // when a worker's restart ended
	stopped bool                 // the fleet was given up at the last step
}

func TestRulesHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &machine{now: time.Unix(1_000_000, 0), last: map[string]time.Time{}}
		m.c = Config{
			Limits:    Limits{Memory: 512 * mib, Threads: 100},
			Share:     rapid.SampledFrom([]float64{0.01, 0.25, 0.5}).Draw(t, "share"),
			MinUptime: rapid.SampledFrom([]time.Duration{Off, time.Minute, 10 * time.Minute}).Draw(t, "min uptime"),
			PerHour:   rapid.IntRange(1, 8).Draw(t, "per hour"),
			Strikes:   rapid.IntRange(1, 4).Draw(t, "strikes"),
		}
		m.f.Config = m.c
		m.c = m.c.WithDefaults()
		for i := range rapid.IntRange(1, 9).Draw(t, "workers") {
			m.workers = append(m.workers, Worker{Name: fmt.Sprint("w-", i), Life: 1, Up: m.now, Serving: true})
		}
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			m.change(t)
			m.step(t)
		}
	})
}

// change has something happen.
func (m *machine) change(t *rapid.T) {
	w := &m.workers[rapid.IntRange(0, len(m.workers)-1).Draw(t, "worker")]
	switch rapid.IntRange(0, 9).Draw(t, "what") {
	case 0, 1, 2:
		w.Sample.Memory = 900 * mib
	case 3:
		w.Sample.Memory = mib
	case 4:
		w.Sample.Threads = 200 - w.Sample.Threads
	case 5:
		w.Serving = !w.Serving
	case 6:
		m.held = map[string]string{"": "a rollout"}[m.held]
	case 7: // it dies, or starts again
		if w.Up.IsZero() {
			w.Life, w.Up, w.Serving = w.Life+1, m.now, true
		} else {
			w.Up, w.Serving = time.Time{}, false
		}
	case 8:
		if m.busy != "" {
			m.end(rapid.Bool().Draw(t, "well"), rapid.Bool().Draw(t, "cured"))
		}
	case 9:
		m.now = m.now.Add(rapid.SampledFrom([]time.Duration{time.Minute, 20 * time.Minute}).Draw(t, "later"))
	}
}

func (m *machine) end(well, cured bool) {
	for i := range m.workers {
		if w := &m.workers[i]; w.Name == m.busy && well {
			w.Life, w.Up, w.Serving = w.Life+1, m.now, true
			if cured {
				w.Sample = Sample{}
			}
		}
	}
	m.last[m.busy] = m.now
	m.f.Done(m.now, m.busy, well)
	m.busy = ""
}

func (m *machine) step(t *rapid.T) {
	for range rapid.IntRange(1, 8).Draw(t, "samples") {
		m.now = m.now.Add(every)
		d := m.f.Step(m.now, Scene{Workers: slices.Clone(m.workers), Held: m.held})
		st := m.f.Status()
		if d.Action == Restart {
			m.allowed(t, d)
			m.busy = d.Worker
			m.begun = append(m.begun, m.now)
		}
		if d.Action == Wait && (d.Why == "" || d.Breach.Since.IsZero()) {
			t.Fatalf("in the dark: %+v", d)
		}
		m.stopped = st.State == GaveUp
		if m.stopped && st.Alarm == "" {
			t.Fatal("given up without an alarm")
		}
		for _, w := range st.Workers {
			if (w.State == Due || w.State == GaveUp) && w.Why == "" {
				t.Fatalf("in the dark: %+v", w)
			}
			if w.Strikes > m.c.Strikes || w.Strikes == m.c.Strikes && w.State != GaveUp && w.State != Down && w.Name != m.busy {
				t.Fatalf("%d strikes: %+v", m.c.Strikes, w)
			}
		}
	}
}

// allowed holds the rules against a restart.
func (m *machine) allowed(t *rapid.T, d Decision) {
	serving, away := 0, 0
	var it Worker
	for _, w := range m.workers {
		switch {
		case w.Name == d.Worker:
			it = w
			fallthrough
		case w.Serving:
			if w.Serving {
				serving++
			}
		default:
			away++
		}
	}
	recent := 0
	for _, at := range m.begun {
		if m.now.Sub(at) < time.Hour {
			recent++
		}
	}
	since := later(it.Up, m.last[it.Name])
	switch {
	case m.busy != "":
		t.Fatalf("%s while %s is being restarted", d.Worker, m.busy)
	case m.held != "":
		t.Fatal("while the fleet is held")
	case m.stopped:
		t.Fatal("after it gave up")
	case it.Up.IsZero():
		t.Fatalf("%s is down", d.Worker)
	case serving < 2:
		t.Fatalf("while %d serve", serving)
	case away > 0 && away+1 > int(m.c.Share*float64(len(m.workers))):
		t.Fatalf("%s makes %d of %d", d.Worker, away+1, len(m.workers))
	case m.now.Sub(since) < m.c.MinUptime:
		t.Fatalf("%s has been up for %v", d.Worker, m.now.Sub(since))
	case recent >= m.c.PerHour:
		t.Fatalf("the restart after %d", recent)
	case d.Breach.Lasted < m.c.For || m.now.Sub(d.Breach.Since) != d.Breach.Lasted:
		t.Fatalf("%v has lasted %v", d.Breach, d.Breach.Lasted)
	}
}

func BenchmarkStep(b *testing.B) {
	s := Scene{}
	now := time.Unix(1_000_000, 0)
	for i := range 100 {
		s.Workers = append(s.Workers, Worker{Name: fmt.Sprint("w-", i), Life: 1, Up: now, Serving: true, Sample: Sample{Memory: 100 * mib, Threads: 10}})
	}
	f := Fleet{Config: Config{Limits: Limits{Memory: 512 * mib, Growth: 64 * mib, Descriptors: 0.9}}}
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(every)
		f.Step(now, s)
	}
}
