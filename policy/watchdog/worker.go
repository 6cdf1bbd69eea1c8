package watchdog

import "time"

// times is how many samples in a row make a breach. gap is the time without a sample after which the count begins anew,
// because the values in between are unknown.
const (
	times = 3
	gap   = time.Minute
)

// worker is the record of one worker across its lives.
type worker struct {
	name    string
	life    uint64
	up      time.Time
	serving bool
	sample  Sample
	last    time.Time // of the samples
	memory  trend
	over    [signals]streak

	breach  *Breach   // the breach that counts; nil: none
	due     bool      // it has lasted long enough
	harm    time.Time // when it was last in a breach
	asked   time.Time // when our last restart began and, later, when it ended; zero: none
	struck  bool      // its uselessness has been counted
	strikes int       // restarts in a row that did not help
	done    uint64    // number of restarts
	gaveUp  time.Time // zero: not given up
	why     string    // what it waits for
	until   time.Time // end of the wait; zero: unknown
}

// streak is how long a signal has been above its limit.
type streak struct {
	since time.Time
	n     int // samples; 0: it is not above
	value float64
}

func (s *streak) lasts(now time.Time, c *Config) bool {
	return s.n >= times && now.Sub(s.since) >= c.For
}

func (w *worker) see(now time.Time, c *Config, in *Worker) {
	if w.life != in.Life {
		w.life, w.memory, w.over = in.Life, trend{}, [signals]streak{}
	}
	w.up, w.serving = in.Up, in.Serving
	if in.Up.IsZero() {
		w.over = [signals]streak{}
	}
	if in.Unseen || in.Up.IsZero() {
		return
	}
	if d := now.Sub(w.last); d < 0 || d > max(gap, 2*c.For) {
		w.over = [signals]streak{}
	}
	w.sample, w.last = in.Sample, now
	w.memory.add(now, c.Window, in.Sample.Memory)
	for s := range signals {
		limit, value := c.Limits.of(s), w.value(s)
		if limit <= 0 || value < limit {
			w.over[s] = streak{}
			continue
		}
		o := &w.over[s]
		if o.n == 0 {
			o.since = now
		}
		o.n, o.value = o.n+1, value
	}
}

func (w *worker) value(s Signal) float64 {
	if s == Growth {
		return w.memory.rate
	}
	return w.sample.of(s)
}

// judge finds the breach that counts: a lasting one before a short one, then the longest.
func (w *worker) judge(now time.Time, c *Config) {
	w.breach, w.due = nil, false
	best, rank := Signal(0), -1
	for s := range signals {
		o := &w.over[s]
		if o.n == 0 {
			continue
		}
		r := 0
		if o.lasts(now, c) {
			r = 1
		}
		if r > rank || r == rank && o.since.Before(w.over[best].since) {
			best, rank = s, r
		}
	}
	if rank < 0 {
		return
	}
	o := &w.over[best]
	w.breach = &Breach{Signal: best, Value: o.value, Limit: c.Limits.of(best), Since: o.since, Lasted: now.Sub(o.since)}
	w.due = o.lasts(now, c)
	w.harm = now
}

// restartUseless checks whether our last restart helped, as far as that is known. It returns true if one more did not help.
func (w *worker) restartUseless(now time.Time, c *Config) (useless bool) {
	switch {
	case w.asked.IsZero():
	case now.Sub(w.asked) >= c.soon():
		if w.breach == nil || !w.struck {
			w.strikes = 0
		}
	case w.due && !w.struck:
		w.struck = true
		w.strikes++
		if w.strikes >= c.Strikes {
			w.gaveUp = now
		}
		return true
	}
	return false
}

// base returns the time from which MinUptime counts.
func (w *worker) base() time.Time {
	if w.asked.After(w.up) {
		return w.asked
	}
	return w.up
}
