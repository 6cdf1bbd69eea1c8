package watchdog

import (
	"fmt"
	"slices"
	"time"
)

// MaxWorkers bounds the workers of one Fleet; further ones are ignored.
const MaxWorkers = 1024

// Worker describes one worker at one moment.
type Worker struct {
	Name    string
	Life    uint64    // differs between processes of the worker
	Up      time.Time // when this life became ready; zero: not ready
	Serving bool      // it gets work
	Sample  Sample
	Unseen  bool // there is no sample this time
}

// Scene describes a fleet at one moment.
type Scene struct {
	Workers []Worker
	Held    string // why nothing may be restarted now, such as a rollout; "": no reason
}

// Action is the action to take.
type Action uint8

// The actions.
const (
	Idle    Action = iota // all is well
	Wait                  // a worker is due, and waits
	GiveUp                // restarts do not help: an operator must act
	Restart               // restart this worker now, and then call Done
)

// String returns the action's name.
func (a Action) String() string {
	return [...]string{"idle", "wait", "give-up", "restart"}[min(a, Restart)]
}

// Decision is the result of [Fleet.Step].
type Decision struct {
	Action Action
	Worker string
	Breach Breach
	Why    string    // of Wait and GiveUp
	Until  time.Time // of Wait: its end; zero: unknown
}

// entry is one restart of the last hour.
type entry struct {
	at      time.Time
	worker  string
	useless bool
}

// Fleet decides about the workers of one fleet. The zero value with the zero Config is ready. It is not safe for concurrent
// use.
type Fleet struct {
	Config Config

	workers map[string]*worker
	order   []*worker // in the order of the last scene
	recent  []entry   // restarts of the last hour, PerHour at most
	busy    string    // being restarted; "": none
	gaveUp  time.Time // when it gave up on the whole fleet; zero: it did not
	why     string    // for that
	spent   bool      // a worker waits because the budget is spent
	harm    time.Time // when a worker was last in a breach

	restarts, failed, useless uint64
}

// Step takes the state of the fleet at now and decides what to do. After Restart, the caller must call Done; until then
// Step does not return Restart again.
func (f *Fleet) Step(now time.Time, s Scene) Decision {
	c := f.Config.WithDefaults()
	f.see(now, &c, s.Workers)
	f.forget(now, &c)
	var due []*worker
	for _, w := range f.order {
		w.judge(now, &c)
		if w.breach != nil {
			f.harm = now
		}
		if w.name != f.busy && w.restartUseless(now, &c) {
			f.mark(w.name)
		}
		w.why, w.until = "", time.Time{}
		if w.due {
			due = append(due, w)
		}
	}
	f.calm(now, &c)
	slices.SortStableFunc(due, func(a, b *worker) int { return a.breach.Since.Compare(b.breach.Since) })
	f.spent = false
	var out Decision
	for _, w := range due {
		d := f.consider(now, &c, s.Held, w)
		w.why, w.until = d.Why, d.Until
		if d.Action > out.Action {
			out = d
		}
		if d.Action == Restart {
			f.begin(now, w)
		}
	}
	return out
}

// see updates the workers, and drops those that are gone.
func (f *Fleet) see(now time.Time, c *Config, in []Worker) {
	if f.workers == nil {
		f.workers = map[string]*worker{}
	}
	f.order = f.order[:0]
	for i := range in[:min(len(in), MaxWorkers)] {
		w := f.workers[in[i].Name]
		if w == nil {
			w = &worker{name: in[i].Name}
			f.workers[w.name] = w
		}
		w.see(now, c, &in[i])
		f.order = append(f.order, w)
	}
	if len(f.workers) > len(f.order) {
		clear(f.workers)
		for _, w := range f.order {
			f.workers[w.name] = w
		}
	}
}

// forget drops restarts that no longer count for the budget.
func (f *Fleet) forget(now time.Time, c *Config) {
	f.recent = slices.DeleteFunc(f.recent, func(e entry) bool {
		return now.Sub(e.at) >= time.Hour
	})
	if n := len(f.recent) - c.PerHour; n > 0 { // the budget was lowered
		f.recent = slices.Delete(f.recent, 0, n)
	}
}

// mark records that the last restart of a worker did not help.
func (f *Fleet) mark(name string) {
	f.useless++
	for i := len(f.recent) - 1; i >= 0; i-- {
		if f.recent[i].worker == name {
			f.recent[i].useless = true
			return
		}
	}
}

// calm watches again what was given up long ago.
func (f *Fleet) calm(now time.Time, c *Config) {
	if !f.gaveUp.IsZero() && now.Sub(later(f.gaveUp, f.harm)) >= c.Calm {
		f.gaveUp, f.why, f.recent = time.Time{}, "", nil
	}
	for _, w := range f.order {
		if !w.gaveUp.IsZero() && now.Sub(later(w.gaveUp, w.harm)) >= c.Calm {
			w.pardon()
		}
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// pardon clears the record of the worker's restarts.
func (w *worker) pardon() {
	w.gaveUp, w.strikes, w.asked, w.struck = time.Time{}, 0, time.Time{}, false
}

// consider decides about a worker that is due.
func (f *Fleet) consider(now time.Time, c *Config, held string, w *worker) Decision {
	d := Decision{Action: Wait, Worker: w.name, Breach: *w.breach}
	serving, away := f.count(w)
	allowed := max(1, int(c.Share*float64(len(f.order))+1e-9))
	ready := w.base().Add(c.backoff(w.strikes))
	switch {
	case w.name == f.busy:
		d.Why = "it is being restarted"
	case !w.gaveUp.IsZero():
		d.Action, d.Why = GiveUp, fmt.Sprintf("%d restarts in a row did not help", w.strikes)
	case !f.gaveUp.IsZero():
		d.Action, d.Why = GiveUp, f.why
	case held != "":
		d.Why = held
	case f.busy != "":
		d.Why = f.busy + " is being restarted, and they are restarted one at a time"
	case serving < 2:
		d.Why = fmt.Sprintf("only %d of %d workers serve, and at least 2 must", serving, len(f.order))
	case away+1 > allowed:
		d.Why = fmt.Sprintf("%d of %d workers are away already, the limit is %d", away, len(f.order), allowed)
	case now.Before(ready):
		d.Why, d.Until = f.young(now, w), ready
	case len(f.recent) >= c.PerHour:
		f.budget(now, c, &d)
	default:
		d.Action = Restart
	}
	return d
}

// count returns how many workers serve, and how many others than w do not.
func (f *Fleet) count(w *worker) (serving, away int) {
	for _, o := range f.order {
		switch {
		case o.serving:
			serving++
		case o != w:
			away++
		}
	}
	return serving, away
}

func (f *Fleet) young(now time.Time, w *worker) string {
	if w.strikes > 0 {
		return fmt.Sprintf("the last %s did not help, so it waits longer", plural(w.strikes, "restart"))
	}
	return fmt.Sprintf("it has been up for only %v", now.Sub(w.base()).Round(time.Second))
}

func plural(n int, what string) string {
	if n == 1 {
		return what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// budget decides what to do if the budget of the hour is spent.
func (f *Fleet) budget(now time.Time, c *Config, d *Decision) {
	useless := 0
	for _, e := range f.recent {
		if e.useless {
			useless++
		}
	}
	d.Why = fmt.Sprintf("the budget of %s an hour is spent", plural(c.PerHour, "restart"))
	if 2*useless >= len(f.recent) {
		f.gaveUp = now
		f.why = fmt.Sprintf("%s, and %d did not help", d.Why, useless)
		d.Action, d.Why = GiveUp, f.why
		return
	}
	f.spent = true
	d.Until = f.recent[0].at.Add(time.Hour)
}

// begin records a restart.
func (f *Fleet) begin(now time.Time, w *worker) {
	f.busy = w.name
	f.restarts++
	f.recent = append(f.recent, entry{at: now, worker: w.name})
	w.done++
	w.asked, w.struck = now, false
}

// Done records that the restart of a worker has ended, well or not.
func (f *Fleet) Done(now time.Time, name string, ok bool) {
	if f.busy != name {
		return
	}
	f.busy = ""
	if !ok {
		f.failed++
	}
	if w := f.workers[name]; w != nil {
		w.asked = now
		// A life that goes on must breach its limit again.
		w.over, w.breach, w.due = [signals]streak{}, nil, false
	}
}

// Clear watches a worker again that was given up, or for "" all workers and the fleet. It reports whether there was
// anything to clear.
func (f *Fleet) Clear(name string) bool {
	found := false
	for _, w := range f.order {
		if name == "" || w.name == name {
			found = found || !w.gaveUp.IsZero()
			w.pardon()
		}
	}
	if name == "" {
		found = found || !f.gaveUp.IsZero()
		f.gaveUp, f.why, f.recent = time.Time{}, "", nil
	}
	return found
}
