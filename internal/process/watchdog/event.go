package watchdog

import (
	"context"
	"log/slog"
	"time"

	policy "github.com/bezoar-dev/bezoar/policy/watchdog"
)

// Kind is the kind of an event.
type Kind string

// The kinds of events.
const (
	BecameDue Kind = "due"       // a limit has been exceeded for long enough
	Recovered Kind = "recovered" // it no longer is, without a restart
	Begun     Kind = "restart"   // of a worker
	Ended     Kind = "restarted" // and it serves again
	Failed    Kind = "failed"    // and the old process goes on
	Stopped   Kind = "gave-up"   // on a worker, or the fleet: an operator is wanted
	Resumed   Kind = "resumed"   // what was given up is watched again
	Alarm     Kind = "alarm"     // an operator should look
)

// Event is one change.
type Event struct {
	At     time.Time
	Kind   Kind
	Fleet  string
	Worker string // "" for the whole fleet
	Breach *Breach
	Err    error  // of Failed
	Text   string // one line for people
}

// emit logs an event and calls Observe.
func (c *Config) emit(level slog.Level, e Event) {
	e.Fleet = c.Name
	c.Log.Log(context.Background(), level, "watchdog: "+e.Text, "fleet", e.Fleet, "worker", e.Worker, "kind", string(e.Kind))
	if c.Observe != nil {
		c.Observe(e)
	}
}

// tell reports all changes since the last call.
func (d *Watchdog) tell(c *Config, now time.Time, dec policy.Decision, s policy.Status) {
	gaveUp := false
	for i := range s.Workers {
		w := &s.Workers[i]
		was, is := d.known[w.Name], w.State
		d.known[w.Name] = is
		gaveUp = gaveUp || is == GaveUp && was != GaveUp
		if is != was {
			d.tellWorker(c, now, was, w)
		}
	}
	if len(d.known) > len(s.Workers)+1 { // some workers are gone; known also contains the fleet
		d.retain(s.Workers)
	}
	was := d.known[""]
	d.known[""] = s.State
	switch {
	case s.State == GaveUp && was != GaveUp:
		gaveUp = true
		c.emit(slog.LevelError, Event{At: now, Kind: Stopped, Breach: breachOf(dec), Text: s.Alarm})
	case was == GaveUp && s.State != GaveUp:
		c.emit(slog.LevelInfo, Event{At: now, Kind: Resumed, Text: "the fleet is watched again"})
	}
	if alarm := s.Alarm != ""; alarm != d.alarm {
		d.alarm = alarm
		if alarm && !gaveUp {
			c.emit(slog.LevelWarn, Event{At: now, Kind: Alarm, Text: s.Alarm})
		}
	}
}

// breachOf returns the breach behind a decision, or nil.
func breachOf(dec policy.Decision) *Breach {
	if dec.Worker == "" {
		return nil
	}
	return &dec.Breach
}

// tellWorker reports the new state of a worker.
func (d *Watchdog) tellWorker(c *Config, now time.Time, was State, w *WorkerStatus) {
	e := Event{At: now, Worker: w.Name, Breach: w.Breach}
	breach := "a limit was exceeded"
	if w.Breach != nil {
		breach = w.Breach.String()
	}
	if was == GaveUp {
		e.Kind, e.Text = Resumed, w.Name+" is watched again"
		c.emit(slog.LevelInfo, e)
	}
	switch w.State {
	case Due:
		e.Kind, e.Text = BecameDue, w.Name+" is due for a restart and waits ("+w.Why+"): its "+breach
		c.emit(slog.LevelWarn, e)
	case Restarting:
		e.Kind, e.Text = Begun, w.Name+" is restarted: its "+breach
		c.emit(slog.LevelWarn, e)
	case GaveUp:
		e.Kind, e.Text = Stopped, w.Name+" will not be restarted now, "+w.Why+": its "+breach
		c.emit(slog.LevelError, e)
	case OK, Over, Down:
		if was == Due {
			e.Kind, e.Text = Recovered, w.Name+" is below its limits again"
			if w.State == Down {
				e.Text = w.Name + " is down"
			}
			c.emit(slog.LevelInfo, e)
		}
	}
}

func (d *Watchdog) tellEnd(c *Config, now time.Time, r result, s policy.Status) {
	for i := range s.Workers {
		if w := &s.Workers[i]; w.Name == r.decision.Worker && w.State != GaveUp {
			d.known[w.Name] = w.State
		}
	}
	e := Event{At: now, Kind: Ended, Worker: r.decision.Worker, Breach: &r.decision.Breach, Err: r.err}
	if r.err == nil {
		e.Text = e.Worker + " was restarted: its " + r.decision.Breach.String()
		c.emit(slog.LevelInfo, e)
		return
	}
	e.Kind, e.Text = Failed, e.Worker+" could not be restarted and goes on: "+r.err.Error()
	c.emit(slog.LevelError, e)
}

// retain forgets workers that are gone.
func (d *Watchdog) retain(now []WorkerStatus) {
	fleet := d.known[""]
	clear(d.known)
	d.known[""] = fleet
	for i := range now {
		d.known[now[i].Name] = now[i].State
	}
}
