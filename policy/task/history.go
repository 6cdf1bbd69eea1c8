package task

import "time"

// History is what is known about the attempts of a task. It is stored with the task. It is
// bounded: only the last failures are kept.
type History struct {
	Attempts  int           `json:"attempts,omitempty"`  // that began
	Own       int           `json:"own,omitempty"`       // that failed by themselves
	Killed    int           `json:"killed,omitempty"`    // by the infrastructure
	Lost      int           `json:"lost,omitempty"`      // running when Bezoar itself, or its machine, died
	Overdue   int           `json:"overdue,omitempty"`   // stopped at their timeout
	Unstarted int           `json:"unstarted,omitempty"` // that could not be started
	Looks     int           `json:"looks,omitempty"`     // of a sensor
	Fresh     int           `json:"fresh,omitempty"`     // failures since a person last retried it: only they count as repeated
	Last      []Failure     `json:"last,omitempty"`      // at most MaxFailures, the oldest first
	Wait      time.Duration `json:"wait,omitempty"`      // the last wait, for decorrelated jitter
}

// MaxFailures bounds History.Last.
const MaxFailures = 16

// Failure is one attempt that did not end well.
type Failure struct {
	Class       string    `json:"class"`
	Fingerprint string    `json:"fingerprint,omitempty"`
	Group       string    `json:"group,omitempty"`
	Quality     string    `json:"quality,omitempty"` // A to D
	Build       string    `json:"build,omitempty"`
	Reason      string    `json:"reason,omitempty"`
	At          time.Time `json:"at"`
}

// Alone reports whether the next attempt has to be the only one on its node.
// Bezoar, or its machine, has died so often while the task ran that the task may be
// the cause. Only an attempt that runs alone can show it: each other attempt that
// ran at the same time may be the cause as well.
func (h History) Alone() bool { return h.Lost >= MaxTogether }

// Again returns the history after a person retried the task: its budgets are fresh. Earlier failures are remembered but no
// longer count.
func (h History) Again() History {
	return History{Attempts: h.Attempts, Last: h.Last}
}
