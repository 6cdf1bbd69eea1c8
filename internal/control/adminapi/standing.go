package adminapi

import "time"

// Panic is the state of a fleet with so few healthy workers that health checks are ignored.
// All running workers get traffic.
type Panic struct {
	Since   time.Time `json:"since"`
	Healthy int       `json:"healthy"` // healthy workers among the running ones
	Up      int       `json:"up"`
}

// Pool is the state of a fleet's limit on concurrent requests.
type Pool struct {
	Limit    int      `json:"limit"`
	Adaptive bool     `json:"adaptive"`
	InFlight int      `json:"in_flight"`
	Queued   int      `json:"queued"`
	Streams  int      `json:"streams"`           // open streams, in addition to the requests in flight
	Latency  Duration `json:"latency,omitempty"` // recent latency; 0: unknown
	Normal   Duration `json:"normal,omitempty"`  // normal latency; 0: unknown
	Pressure float64  `json:"pressure"`          // 0 idle, 1 at the limit, above 1 refusing
	Classes  []Class  `json:"classes"`           // counts by priority, most important first
}

// Class is the count of requests of one priority since the pool was created.
type Class struct {
	Priority string            `json:"priority"`
	Admitted uint64            `json:"admitted"`
	Waited   uint64            `json:"waited"` // admitted requests that waited
	Shed     uint64            `json:"shed"`
	Rules    map[string]uint64 `json:"rules,omitempty"` // refused requests by rule
}

// Shard is the assignment of callers to workers.
type Shard struct {
	Size       int     `json:"size,omitempty"`  // workers per caller; 0: the fleet has cells
	Cells      int     `json:"cells,omitempty"` // fixed parts of the fleet; 0: the fleet has shards
	Overflow   string  `json:"overflow"`
	Overflowed uint64  `json:"overflowed"` // requests that left their shard
	Whole      float64 `json:"whole"`      // probability that two callers share their whole shard
}

// Held is the reason why a running worker gets no work, or less.
type Held struct {
	Out       bool      `json:"out"`                    // true if it gets no work; false if its fleet is in panic
	Unhealthy string    `json:"unhealthy,omitempty"`    // reason of failing health checks
	Silent    bool      `json:"silent,omitempty"`       // true if it has work and answers nothing
	Ejected   time.Time `json:"ejected_until,omitzero"` // end of an ejection because of its results
	Ejections int       `json:"ejections_in_a_row,omitempty"`
}
