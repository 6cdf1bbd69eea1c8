package watchdog

import (
	"fmt"
	"slices"
	"time"
)

// MaxWorkers bounds the workers of one Fleet; more are not looked at.
const MaxWorkers = 1024

// Worker is one worker at one moment.
type Worker struct {
	Name    string
	Life    uint64    // differs from one process of the worker to the next
	Up      time.Time // when this life became ready; zero: it is not
	Serving bool      // it gets work
	Sample  Sample
	Unseen  bool // there is no sample this time
}

// Scene is a fleet at one moment.
type Scene struct {
	Workers []Worker
	Held    string // why nothing may be restarted now, such as a rollout; "" when it may
}

// Action is what to do.
type Action uint8

// The actions.
const (
	Idle    Action = iota // all is well
	Wait                  // a worker is due, and waits
	GiveUp                // restarts do not help: an operator is wanted
	Restart               // this one, now: Done is owed
)

// String returns the action's name.
func (a Action) String() string {
	return [...]string{"idle", "wait", "give-up", "restart"}[min(a, Restart)]
}

// Decision answers [Fleet.Step].
type Decision struct {
	Action Action
	Worker string
	Breach Breach
	Why    string    // of Wait and GiveUp
	Until  time.Time // of Wait, when that is over; zero when nobody knows
}

// entry is one restart of the last hour.
type entry struct {
	at      time.Time
	worker  string
	useless bool
}

// Fleet decides about the workers of one fleet. The zero value with the zero
// Config is ready. It is not safe for concurrent use.
type Fleet struct {
	Config Config

	workers map[string]*worker
	order   []*worker // as the last scene had them
	recent  []entry   // restarts of the last hour, PerHour at most
	busy    string    // being restarted; "" when none is
	gaveUp  time.Time // on the whole fleet; zero: not
	why     string    // for that
	spent   bool      // the budget makes a worker wait
	harm    time.Time // the last moment in which a worker was in a breach

	restarts, failed, useless uint64
}

// Step takes the fleet as it is at now and decides what to do. After Restart,
// the caller owes a Done, and Step does not answer Restart again before it.
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

// see updates what is known, and forgets who is gone.
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

// forget drops restarts that the budget does not remember.
func (f *Fleet) forget(now time.Time, c *Config) {
	f.recent = slices.DeleteFunc(f.recent, func(e entry) bool {
		return now.Sub(e.at) >= time.Hour
	})
	if n := len(f.recent) - c.PerHour; n > 0 { // it was lowered
		f.recent = slices.Delete(f.recent, 0, n)
	}
}

// mark notes that the last restart of a worker did not help.
func (f *Fleet) mark(name string) {
	f.useless++
	for i := len(f.recent) - 1; i >= 0; i-- {
		if f.recent[i].worker == name {
			f.recent[i].useless = true
			return
		}
	}
}

// calm takes back what was given up long ago.
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

// pardon forgets what speaks against the worker's restarts.
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
		d.Why = fmt.Sprintf("%d of %d workers serve, and 2 have to", serving, len(f.order))
	case away+1 > allowed:
		d.Why = fmt.Sprintf("%d of %d workers are away already, and %d may be", away, len(f.order), allowed)
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
		return fmt.Sprintf("the last %s did not help, so that it backs off", plural(w.strikes, "restart"))
	}
	return fmt.Sprintf("it has been up for %v only", now.Sub(w.base()).Round(time.Second))
}

func plural(n int, what string) string {
	if n == 1 {
		return what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// budget decides when the budget of the hour is spent.
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

// begin notes a restart.
func (f *Fleet) begin(now time.Time, w *worker) {
	f.busy = w.name
	f.restarts++
	f.recent = append(f.recent, entry{at: now, worker: w.name})
	w.done++
	w.asked, w.struck = now, false
}

// Done says that the restart of a worker has ended, well or not.
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
		// A life that goes on has to show it again.
		w.over, w.breach, w.due = [signals]streak{}, nil, false
	}
}

// Clear watches a worker again that was given up, or for "" all and the fleet.
// It reports whether there was anything to clear.
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
