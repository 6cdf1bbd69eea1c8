package watchdog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestWorkersAreRestartedOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHerd(8)
		var log bytes.Buffer
		cfg := h.config()
		cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
		h.takes = 40 * time.Second
		d, err := New(cfg)
		stop := start(t, must(t, d, err))
		defer stop()
		time.Sleep(10 * time.Minute)
		if asked, events := h.seen(); len(asked)+len(events) != 0 {
			t.Fatalf("all is well, and %v, %v", asked, events)
		}
		h.leak("w-3", "w-6")
		time.Sleep(50 * time.Second)
		st := d.Status()
		if st.State != Restarting || st.Name != "herd" {
			t.Errorf("%+v", st)
		}
		second := st.Workers[slices.IndexFunc(st.Workers, func(w WorkerStatus) bool { return w.State == Due })]
		if !strings.Contains(second.Why, "one at a time") {
			t.Errorf("%+v", second)
		}
		time.Sleep(2 * time.Minute)
		asked, events := h.seen()
		if h.at != 1 || len(asked) != 2 {
			t.Fatalf("%d at a time, %v", h.at, asked)
		}
		first, last := asked[0][:3], asked[1][:3]
		if want := first + ": watchdog: memory is 900 MiB, above 512 MiB for 3"; !strings.HasPrefix(asked[0], want) {
			t.Errorf("asked %q, want %q", asked[0], want)
		}
		want := []string{"restart " + first, "due " + last, "restarted " + first, "restart " + last, "restarted " + last}
		slices.Sort(events[:2]) // within one look, in the order of the fleet
		slices.Sort(want[:2])
		if !slices.Equal(events, want) {
			t.Errorf("events %v, want %v", events, want)
		}
		st = d.Status()
		if st.Restarts != 2 || st.Failed != 0 || st.Useless != 0 || st.Recent != 2 || st.State != OK || st.Alarm != "" {
			t.Errorf("%+v", st)
		}
		stop()
		for _, want := range []string{"watchdog: " + first + " is restarted: its memory is 900 MiB", "kind=restarted", "fleet=herd"} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("the log lacks %q:\n%s", want, log.String())
			}
		}
	})
}

func TestNothingIsRestartedWhileHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHerd(4)
		d, err := New(h.config())
		defer start(t, must(t, d, err))()
		time.Sleep(10 * time.Minute)
		h.set(func() { h.held = "a rollout is on" })
		h.leak("w-1")
		time.Sleep(time.Hour)
		asked, events := h.seen()
		if st := d.Status().Workers[0]; len(asked) != 0 || st.State != Due || st.Why != "a rollout is on" {
			t.Errorf("%v, %+v", asked, st)
		}
		if !slices.Equal(events, []string{"due w-1"}) {
			t.Errorf("events %v: said more than once", events)
		}
		h.set(func() { h.held, h.memory["w-1"] = "", mib })
		time.Sleep(time.Minute)
		if _, events := h.seen(); !slices.Equal(events, []string{"due w-1", "recovered w-1"}) {
			t.Errorf("events %v", events)
		}
	})
}

func TestItStopsAndAlarms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHerd(4)
		h.cures = false
		d, err := New(h.config())
		defer start(t, must(t, d, err))()
		h.leak("w-1", "w-2", "w-3", "w-4")
		time.Sleep(50 * time.Hour)
		asked, events := h.seen()
		st := d.Status()
		if len(asked) != 6 || st.State != GaveUp || !strings.HasPrefix(st.Alarm, "gave up on the whole fleet: ") || st.Since.IsZero() {
			t.Errorf("%v, %+v", asked, st)
		}
		if n := strings.Count(strings.Join(events, ","), "gave-up"); n != 1 || !slices.Contains(events, "gave-up ") {
			t.Errorf("events %v", events)
		}
		h.set(func() { h.cures = true })
		if !d.Clear("") || d.Clear("") {
			t.Error("there is something to clear, once")
		}
		time.Sleep(15 * time.Minute)
		st = d.Status()
		if asked, events := h.seen(); len(asked) != 10 || st.Alarm != "" || st.State != OK || !slices.Contains(events, "resumed ") {
			t.Errorf("%v, %v, %+v", asked, events, st)
		}
	})
}

func TestAWorkerThatIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHerd(4)
		h.fails = true
		d, err := New(h.config())
		defer start(t, must(t, d, err))()
		h.leak("w-2")
		time.Sleep(time.Hour)
		asked, events := h.seen()
		want := []string{"due w-2", "restart w-2", "failed w-2"}
		if !slices.Equal(events[:3], want) || events[len(events)-1] != "gave-up w-2" || len(asked) != 3 {
			t.Errorf("%v, events %v", asked, events)
		}
		if st := d.Status(); st.Alarm != "gave up on w-2: restarts do not help" || st.Failed != 3 {
			t.Errorf("%+v", st)
		}
		h.set(func() { h.memory["w-2"] = mib })
		time.Sleep(time.Hour + time.Minute) // calm
		if _, events := h.seen(); events[len(events)-1] != "resumed w-2" || d.Status().Alarm != "" {
			t.Errorf("events %v, %q", events, d.Status().Alarm)
		}
	})
}

// A budget spent on restarts that helped is told, once.
func TestTheBudgetIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHerd(4)
		cfg := h.config()
		cfg.PerHour = 2
		d, err := New(cfg)
		defer start(t, must(t, d, err))()
		time.Sleep(5 * time.Minute)
		h.leak("w-1", "w-2", "w-3")
		time.Sleep(30 * time.Minute)
		_, events := h.seen()
		if n := strings.Count(strings.Join(events, ","), "alarm "); n != 1 || !strings.HasSuffix(d.Status().Alarm, " must wait") {
			t.Errorf("events %v, %q", events, d.Status().Alarm)
		}
		time.Sleep(40 * time.Minute)
		if asked, _ := h.seen(); len(asked) != 3 || d.Status().Alarm != "" {
			t.Errorf("%v, %q", asked, d.Status().Alarm)
		}
	})
}

// Run ends a restart that is under way, and waits for it.
func TestRunWaitsForItsRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHerd(4)
		h.takes = time.Hour
		cfg := h.config()
		cfg.Patience = 10 * time.Minute
		d, err := New(cfg)
		stop := start(t, must(t, d, err))
		time.Sleep(3 * time.Minute)
		h.leak("w-1")
		time.Sleep(5 * time.Minute)
		if err := d.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "Run runs already") {
			t.Errorf("a second Run = %v", err)
		}
		if d.Status().Restarting != "w-1" {
			t.Errorf("%+v", d.Status())
		}
		time.Sleep(6 * time.Minute) // its patience has ended
		if _, events := h.seen(); events[len(events)-1] != "failed w-1" {
			t.Errorf("events %v", events)
		}
		time.Sleep(10 * time.Minute)
		if d.Status().Restarting != "w-1" {
			t.Errorf("%+v", d.Status())
		}
		began := time.Now()
		stop()
		if h.now != 0 || time.Since(began) != 0 || d.Status().Restarting != "" {
			t.Errorf("%d restarts under way after Run, %v later", h.now, time.Since(began))
		}
		again := start(t, d) // and it can go on
		time.Sleep(time.Minute)
		again()
	})
}

func TestUpdate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHerd(4)
		d, err := New(h.config())
		defer start(t, must(t, d, err))()
		time.Sleep(5 * time.Minute)
		if err := d.Update(Config{Rules: Rules{For: time.Millisecond}}); err == nil || !strings.HasPrefix(err.Error(), "watchdog herd: for is 1ms") {
			t.Errorf("an impossible update = %v", err)
		}
		h.leak("w-1")
		if err := d.Update(Config{Rules: Rules{Limits: Limits{Memory: 1 << 30}}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		if asked, _ := h.seen(); len(asked) != 0 {
			t.Errorf("%v: below the new limit", asked)
		}
		if err := d.Update(Config{Rules: Rules{Limits: Limits{Memory: 800 * mib}, For: 3 * time.Second}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		if asked, _ := h.seen(); len(asked) != 1 {
			t.Errorf("%v: above the newest limit", asked)
		}
	})
}

func TestWorkersComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHerd(4)
		cfg := h.config()
		d, err := New(cfg)
		defer start(t, must(t, d, err))()
		for i := range 200 {
			h.set(func() {
				for j := range h.workers {
					h.workers[j].Name = fmt.Sprint("x-", i, "-", j)
				}
				h.workers[0].Up = time.Time{}
			})
			time.Sleep(10 * time.Second)
		}
		synctest.Wait()
		if len(d.known) > 6 {
			t.Errorf("%d workers are remembered", len(d.known))
		}
		if st := d.Status(); len(st.Workers) != 4 || st.Workers[0].State != Down {
			t.Errorf("%+v", st.Workers)
		}
	})
}

func TestStatusIsJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHerd(2)
		d, err := New(h.config())
		defer start(t, must(t, d, err))()
		h.leak("w-2")
		time.Sleep(20 * time.Second)
		text, err := json.Marshal(d.Status())
		for _, want := range []string{`"name":"herd"`, `"state":"ok"`, `"per_hour":6`, `"breach":{"signal":"memory","value":943718400,"limit":536870912,"since":`, `"state":"over"`} {
			if err != nil || !strings.Contains(string(text), want) {
				t.Errorf("%s, %v: want %s", text, err, want)
			}
		}
	})
}

func TestConfig(t *testing.T) {
	for _, tc := range []struct {
		c    Config
		want string
	}{
		{Config{Rules: Rules{For: time.Millisecond}}, "for is 1ms"},
		{Config{Interval: time.Millisecond}, "interval is 1ms"},
		{Config{Rules: Rules{For: 3 * time.Second}, Interval: 2 * time.Second}, "interval is 2s, want 50ms to 1s"},
		{Config{Rules: Rules{Limits: Limits{Growth: 1 << 30}}, Interval: 8 * time.Second}, "interval is 8s, want 50ms to 6.25s"},
		{Config{Patience: time.Millisecond}, "patience is 1ms"},
		{Config{Rules: Rules{Limits: Limits{Memory: -1}}}, "memory is -1"},
	} {
		if err := tc.c.Validate(); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v, want %q", err, tc.want)
		}
		if _, err := New(tc.c); err == nil || !strings.Contains(err.Error(), "target is missing") || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("New without a target: %v", err)
		}
		tc.c.Target = newHerd(1)
		if _, err := New(tc.c); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("New: %v, want %q", err, tc.want)
		}
	}
	for _, c := range []Rules{{}, {For: time.Second}, {Limits: Limits{Growth: 1 << 30}}, {For: 24 * time.Hour}} {
		if err := (Config{Rules: c}).Validate(); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
