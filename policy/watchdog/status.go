package watchdog

import (
	"fmt"
	"strings"
	"time"
)

// State is the state of a worker, or of the whole fleet.
type State string

// The states. A fleet is OK, Restarting or GaveUp.
const (
	Down       State = "down"       // it is not up, so there is nothing to watch
	OK         State = "ok"         // below every limit
	Over       State = "over"       // above one, not long enough
	Due        State = "due"        // to be restarted, and waits
	Restarting State = "restarting" // being restarted
	GaveUp     State = "gave-up"    // not restarted any more: an operator is wanted
)

// Status is the state of the watch over a fleet.
type Status struct {
	State      State          `json:"state"`
	Alarm      string         `json:"alarm,omitempty"`      // why an operator should look
	Since      time.Time      `json:"since,omitzero"`       // when the fleet was given up
	Restarting string         `json:"restarting,omitempty"` // the worker
	Recent     int            `json:"recent"`               // restarts of the last hour
	PerHour    int            `json:"per_hour"`             // how many there may be
	Restarts   uint64         `json:"restarts"`             // begun, ever
	Failed     uint64         `json:"failed"`               // of them
	Useless    uint64         `json:"useless"`              // of them, those that did not help
	Workers    []WorkerStatus `json:"workers"`
}

// WorkerStatus is the state of the watch over one worker.
type WorkerStatus struct {
	Name     string    `json:"name"`
	State    State     `json:"state"`
	Breach   *Breach   `json:"breach,omitempty"` // the limit that it is above
	Why      string    `json:"why,omitempty"`    // what it waits for, or why it was given up
	Until    time.Time `json:"until,omitzero"`   // when the wait is over, if that is known
	Strikes  int       `json:"strikes"`          // restarts in a row that did not help
	Restarts uint64    `json:"restarts"`         // begun, ever
	Sample   Sample    `json:"sample"`           // the newest
	Growth   float64   `json:"growth,omitempty"` // resident bytes per hour; 0 unless it counts as growth
}

// Status returns the state of the watch after the last Step, including later calls of Done and Clear.
func (f *Fleet) Status() Status {
	c := f.Config.WithDefaults()
	s := Status{
		State: OK, Restarting: f.busy, Recent: len(f.recent), PerHour: c.PerHour,
		Restarts: f.restarts, Failed: f.failed, Useless: f.useless,
		Workers: make([]WorkerStatus, 0, len(f.order)),
	}
	var given, due []string
	for _, w := range f.order {
		st := w.status(f.busy)
		switch st.State {
		case GaveUp:
			given = append(given, w.name)
		case Due:
			due = append(due, w.name)
		default:
		}
		s.Workers = append(s.Workers, st)
	}
	switch {
	case !f.gaveUp.IsZero():
		s.State, s.Since = GaveUp, f.gaveUp
		s.Alarm = "gave up on the whole fleet: " + f.why
	case f.busy != "":
		s.State = Restarting
	}
	switch {
	case s.Alarm != "":
	case len(given) > 0:
		s.Alarm = "gave up on " + names(given) + ": restarts do not help"
	case f.spent:
		s.Alarm = fmt.Sprintf("the budget of %s an hour is spent: %s must wait", plural(c.PerHour, "restart"), names(due))
	}
	return s
}

func (w *worker) status(busy string) WorkerStatus {
	st := WorkerStatus{
		Name: w.name, State: OK, Why: w.why, Until: w.until, Strikes: w.strikes, Restarts: w.done,
		Sample: w.sample, Growth: w.memory.rate,
	}
	if w.breach != nil {
		b := *w.breach
		st.Breach, st.State = &b, Over
	}
	switch {
	case w.name == busy:
		st.State, st.Why, st.Until = Restarting, "", time.Time{}
	case !w.gaveUp.IsZero():
		st.State, st.Until = GaveUp, time.Time{}
		st.Why = fmt.Sprintf("%d restarts in a row did not help", w.strikes)
	case w.up.IsZero():
		st.State, st.Breach, st.Why, st.Until = Down, nil, "", time.Time{}
	case w.due:
		st.State = Due
	}
	return st
}

// names lists a few names.
func names(all []string) string {
	const few = 3
	if len(all) > few {
		return fmt.Sprintf("%s and %d more", strings.Join(all[:few], ", "), len(all)-few)
	}
	return strings.Join(all, ", ")
}
