package adminapi

import "time"

// Panic says that so many workers of a fleet look sick that health is not
// believed: all that are up get traffic.
type Panic struct {
	Since time.Time `json:"since"`
	Well  int       `json:"well"` // of those that are up
	Up    int       `json:"up"`
}

// Pool is how many requests a fleet has at once, and what is refused.
type Pool struct {
	Limit    int      `json:"limit"`
	Adaptive bool     `json:"adaptive"`
	InFlight int      `json:"in_flight"`
	Queued   int      `json:"queued"`
	Streams  int      `json:"streams"`           // beside those in flight
	Latency  Duration `json:"latency,omitempty"` // lately; 0: not known
	Normal   Duration `json:"normal,omitempty"`  // what counts as normal; 0: not known
	Pressure float64  `json:"pressure"`          // 0 idle, 1 at its limit, above: refusing
	Classes  []Class  `json:"classes"`           // the most important first
}

// Class is what became of requests of one priority since the pool was made.
type Class struct {
	Priority string            `json:"priority"`
	Admitted uint64            `json:"admitted"`
	Waited   uint64            `json:"waited"` // of those admitted
	Shed     uint64            `json:"shed"`
	Rules    map[string]uint64 `json:"rules,omitempty"` // those shed, by rule
}

// Shard says which workers a caller may meet.
type Shard struct {
	Size       int     `json:"size,omitempty"`  // workers of each caller; 0: there are cells
	Cells      int     `json:"cells,omitempty"` // fixed parts of the fleet; 0: there are shards
	Overflow   string  `json:"overflow"`
	Overflowed uint64  `json:"overflowed"` // requests that left their shard
	Whole      float64 `json:"whole"`      // probability that two callers share all of it
}

// Held says why a worker gets no work, or less, though it is up.
type Held struct {
	Out       bool      `json:"out"`                    // it gets none; false: its fleet is in panic
	Sick      string    `json:"sick,omitempty"`         // why its health checks fail
	Silent    bool      `json:"silent,omitempty"`       // it has work and answers nothing
	Ejected   time.Time `json:"ejected_until,omitzero"` // because of its results
	Ejections int       `json:"ejections_in_a_row,omitempty"`
}
