package alarm

import (
	"time"

	"github.com/bezoar-dev/bezoar/queue"
)

// Event is what is told: the JSON that a webhook gets as its body and a command
// on stdin. Fields are only ever added.
type Event struct {
	ID     string    `json:"id"` // the same each time that it is tried
	Alarm  string    `json:"alarm"`
	Status string    `json:"status"` // firing, resolved or, of redrives, ended
	Repeat bool      `json:"repeat,omitempty"`
	Text   string    `json:"text"` // one sentence for people
	Kind   Kind      `json:"kind"`
	Queue  string    `json:"queue"` // * for all
	Value  float64   `json:"value"` // letters; of oldest: seconds
	Limit  float64   `json:"limit"`
	Since  time.Time `json:"since,omitzero"` // when it began
	At     time.Time `json:"at"`
	Groups []Cause   `json:"groups,omitempty"` // what the newest letters died of, at most maxCauses
	Tasks  []Ended   `json:"tasks,omitempty"`  // of redrives, at most maxEnded
}

// The statuses.
const (
	Firing   = "firing"
	Resolved = "resolved"
	Over     = "ended"
)

const (
	maxCauses = 5
	maxEnded  = 20
	maxText   = 200
)

// Cause is one group of letters.
type Cause struct {
	Queue  string    `json:"queue"`
	Group  string    `json:"group"`
	Class  string    `json:"class"`
	Reason string    `json:"reason,omitempty"`
	Count  int64     `json:"count"`
	Last   time.Time `json:"last"`
}

// Ended is one redrive that ended or halted.
type Ended struct {
	ID          string          `json:"id"`
	Queue       string          `json:"queue"`
	State       queue.MoveState `json:"state"`
	Failure     string          `json:"failure,omitempty"`
	Planned     int64           `json:"planned"`
	Moved       int64           `json:"moved"`
	Succeeded   int64           `json:"succeeded"`
	FailedAgain int64           `json:"failed_again"`
}
