package adminapi

import (
	"time"

	"github.com/bezoar-dev/bezoar"
)

// Paths of the API. {id} and {name} are one escaped path segment.
const (
	PathQuarantine = "/api/v1/quarantine"            // GET ?fleet= lists, POST adds
	PathVerdict    = "/api/v1/quarantine/{id}"       // GET, DELETE releases
	PathLetters    = "/api/v1/letters"               // GET ?fleet= &limit= &offset=
	PathLetter     = "/api/v1/letters/{id}"          // GET, DELETE discards
	PathRedrive    = "/api/v1/letters/{id}/redrive"  // POST
	PathFleets     = "/api/v1/fleets"                // GET
	PathRestart    = "/api/v1/fleets/{name}/restart" // POST
	PathEvents     = "/api/v1/events"                // GET, server-sent events
)

// DefaultAddress is the default address of the admin API.
const DefaultAddress = "127.0.0.1:7070"

// Limits of both sides.
const (
	MaxAnswer       = 64 << 20 // bytes that a Client reads of one answer
	MaxAddBody      = 1 << 20  // bytes of AddRequest.Body
	MaxReasonLength = 500      // bytes of Add.Reason
	MaxLetterLimit  = 1000     // letters in one page
	MaxEventBytes   = 64 << 10 // bytes of one event
)

// Verdicts is a list of verdicts.
type Verdicts struct {
	Verdicts []bezoar.Verdict `json:"verdicts"`
}

// Add is a request for a verdict by an operator. Exactly one of fingerprint, shape and
// request must be set.
type Add struct {
	Fleet       string             `json:"fleet,omitempty"` // name of the fleet; may be empty if there is only one
	Fingerprint bezoar.Fingerprint `json:"fingerprint"`
	Variant     bezoar.Fingerprint `json:"variant,omitzero"` // with fingerprint: only this variant of it
	Shape       bezoar.Fingerprint `json:"shape"`
	Request     *AddRequest        `json:"request,omitempty"`
	For         Duration           `json:"for,omitempty"` // duration; 0: the route's own quarantine time
	Reason      string             `json:"reason,omitempty"`
}

// AddRequest is a request as a caller would send it. The server computes its fingerprint
// like the gateway, with the rules of the matching route.
type AddRequest struct {
	Method string              `json:"method"`
	Target string              `json:"target"` // path and query
	Host   string              `json:"host,omitempty"`
	Header map[string][]string `json:"header,omitempty"`
	Body   []byte              `json:"body,omitempty"`
}

// Letters is a list of dead letters, without their bodies.
type Letters struct {
	Letters []bezoar.Letter `json:"letters"`
}

// Outcomes of a redrive.
const (
	Answered    = "answered"    // it succeeded in the lane; the letter is deleted
	Crashed     = "crashed"     // it crashed the lane's worker again; the letter stays
	Refused     = "refused"     // it is quarantined, and no probe is due
	Unavailable = "unavailable" // no lane was free
	TimedOut    = "timed-out"   // it exceeded its deadline
	Failed      = "failed"      // it failed without a crash, or cannot be sent again
)

// Redriven is the result of a redrive.
type Redriven struct {
	ID      string `json:"id"`      // ID of the letter
	Outcome string `json:"outcome"` // one of answered, crashed, refused, unavailable, timed-out, failed
	Status  int    `json:"status"`  // HTTP status of the worker; 0: no answer
	Reason  string `json:"reason,omitempty"`
	Verdict string `json:"verdict,omitempty"` // ID of the verdict, if there is one
	// Missing is the list of redacted parts that the redrive omitted: names of headers, and
	// "target" for parameters.
	Missing []string `json:"missing,omitempty"`
}

// Fleets is the list of fleets.
type Fleets struct {
	Fleets []Fleet `json:"fleets"`
}

// Fleet is the state of one fleet.
type Fleet struct {
	Name     string           `json:"name"`
	State    string           `json:"state"` // one of ok, degraded, panic, down
	Managed  bool             `json:"managed"`
	Workers  []Worker         `json:"workers"`
	Lane     Lane             `json:"lane"`
	Counters map[string]int64 `json:"counters"`

	Panic     *Panic    `json:"panic,omitempty"`    // absent while health checks are used
	Recovery  *Recovery `json:"recovery,omitempty"` // absent while work goes to all workers without a limit
	Pool      *Pool     `json:"pool,omitempty"`     // absent without a limit on concurrent requests
	Shard     *Shard    `json:"shard,omitempty"`    // absent if every caller may use every worker
	Rollout   *Rollout  `json:"rollout,omitempty"`  // the newest rolling restart; absent if there was none since Bezoar started
	Ejections uint64    `json:"ejections"`          // number of ejections so far
}

// Rollout is a rolling restart of a fleet.
type Rollout struct {
	Number   int       `json:"number"` // number of the restart in this fleet, from 1 since Bezoar started
	State    string    `json:"state"`  // one of running, stopped, done, reverted (it stopped, and the previous settings were restored)
	Began    time.Time `json:"began"`
	Ended    time.Time `json:"ended,omitzero"`
	Workers  int       `json:"workers"`          // workers to replace
	Replaced int       `json:"replaced"`         // replaced workers that passed their bake period
	Worker   string    `json:"worker,omitempty"` // worker that is being replaced, or at which it stopped
	Tries    int       `json:"tries,omitempty"`  // new processes at this worker that did not pass their bake period
	Why      string    `json:"why,omitempty"`    // reason why it stopped
	Next     string    `json:"next,omitempty"`   // what to do about it
	Stopped  int       `json:"stopped_so_far"`   // number of this fleet's restarts that stopped
}

// Worker is one worker of a fleet.
type Worker struct {
	Name     string    `json:"name"`
	Addr     string    `json:"addr"`
	PID      int       `json:"pid,omitempty"`
	State    string    `json:"state"` // one of starting, ready, draining, down
	Lane     bool      `json:"lane,omitempty"`
	Epoch    uint64    `json:"epoch"`
	Since    time.Time `json:"since"` // start of this state
	InFlight int       `json:"in_flight"`
	Served   uint64    `json:"served"` // attempts in this epoch
	Restarts int64     `json:"restarts"`
	LastEnd  *End      `json:"last_end,omitempty"`

	Held    *Held    `json:"held,omitempty"`    // absent if the worker gets its normal share
	Share   float64  `json:"share"`             // share of its normal work; below 1 during a slow start
	Weight  *int     `json:"weight,omitempty"`  // weight relative to other workers; absent: 1; 0: no new work
	Results int      `json:"results"`           // results of the last seconds
	Failed  int      `json:"failed"`            // failed results of the last seconds
	Latency Duration `json:"latency,omitempty"` // recent average
}

// End is the end of a worker's previous epoch.
type End struct {
	At       time.Time    `json:"at"`
	Planned  bool         `json:"planned"`
	Class    bezoar.Class `json:"class"`
	Detail   string       `json:"detail"`
	ExitCode int          `json:"exit_code"`
	Signal   string       `json:"signal,omitempty"`
	Stderr   []string     `json:"stderr,omitempty"`
}

// Recovery is the limited return of work to a fleet after half of its workers died.
type Recovery struct {
	Runs    int `json:"runs"`    // unproven pieces of work that may run at the same time
	Waiting int `json:"waiting"` // unproven pieces of work that wait for that
}

// Lane is the isolation lane of a fleet.
type Lane struct {
	Worker  string `json:"worker,omitempty"` // worker of the lane; empty if none is reserved now
	Open    bool   `json:"open"`             // false while too few workers are healthy
	Waiting int    `json:"waiting"`
}

// Restarting is the answer to the start of a rolling restart.
type Restarting struct {
	Fleet   string `json:"fleet"`
	Workers int    `json:"workers"` // workers that will be replaced, one after another
	Number  int    `json:"number"`  // number of the rolling restart
}

// Event is an event of Bezoar. Kind selects the fields that are set.
type Event struct {
	Seq         uint64             `json:"seq"` // number, which grows by one; a gap means that events were dropped
	At          time.Time          `json:"at"`
	Kind        string             `json:"kind"` // such as worker.up, worker.down, verdict, letter, gate
	Fleet       string             `json:"fleet,omitempty"`
	Worker      string             `json:"worker,omitempty"`
	Epoch       uint64             `json:"epoch,omitempty"`
	Class       *bezoar.Class      `json:"class,omitempty"`
	Verdict     string             `json:"verdict,omitempty"`
	State       bezoar.State       `json:"state,omitempty"`
	Fingerprint bezoar.Fingerprint `json:"fingerprint,omitzero"`
	Text        string             `json:"text"` // description in one line, for display
}

// Duration is a time.Duration encoded as text such as "1h30m".
type Duration time.Duration

// MarshalText encodes d as time.Duration does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText accepts the input of time.ParseDuration; "" means 0.
func (d *Duration) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*d = 0
		return nil
	}
	v, err := time.ParseDuration(string(text))
	*d = Duration(v)
	return err
}
