package adminapi

import (
	"time"

	"github.com/bezoar-dev/bezoar"
)

// The paths of the API. {id} and {name} are one escaped path segment.
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

// DefaultAddress is where the admin API listens unless configured.
const DefaultAddress = "127.0.0.1:7070"

// The bounds that both sides hold.
const (
	MaxAnswer       = 64 << 20 // bytes a Client reads of one answer
	MaxAddBody      = 1 << 20  // bytes of AddRequest.Body
	MaxReasonLength = 500      // bytes of Add.Reason
	MaxLetterLimit  = 1000     // letters in one page
	MaxEventBytes   = 64 << 10 // bytes of one event
)

// Verdicts answers GET [PathQuarantine].
type Verdicts struct {
	Verdicts []bezoar.Verdict `json:"verdicts"`
}

// Add asks for a verdict of the operator's own. Exactly one of Fingerprint,
// Shape and Request names what to refuse.
type Add struct {
	Fleet       string             `json:"fleet,omitempty"` // may be empty when there is one fleet
	Fingerprint bezoar.Fingerprint `json:"fingerprint"`
	Variant     bezoar.Fingerprint `json:"variant,omitzero"` // with Fingerprint: only this variant of it
	Shape       bezoar.Fingerprint `json:"shape"`
	Request     *AddRequest        `json:"request,omitempty"`
	For         Duration           `json:"for,omitempty"` // 0 means the route's own time
	Reason      string             `json:"reason,omitempty"`
}

// AddRequest is a request as a caller would send it. The server computes its
// fingerprint as the gateway does, with the rules of the route that it matches.
type AddRequest struct {
	Method string              `json:"method"`
	Target string              `json:"target"` // path and query
	Host   string              `json:"host,omitempty"`
	Header map[string][]string `json:"header,omitempty"`
	Body   []byte              `json:"body,omitempty"`
}

// Letters answers GET [PathLetters]. Bodies are left out of a list.
type Letters struct {
	Letters []bezoar.Letter `json:"letters"`
}

// The outcomes of a redrive.
const (
	Answered    = "answered"    // it ran clean in the lane; the letter is gone
	Crashed     = "crashed"     // it crashed the lane again; the letter stays
	Refused     = "refused"     // it is quarantined and not due for a probe
	Unavailable = "unavailable" // no lane was free
	TimedOut    = "timed-out"   // it was overdue
	Failed      = "failed"      // it broke without a crash, or cannot be sent again
)

// Redriven answers POST [PathRedrive].
type Redriven struct {
	ID      string `json:"id"`      // the letter
	Outcome string `json:"outcome"` // Answered, Crashed …
	Status  int    `json:"status"`  // the worker's HTTP status, 0 when it gave none
	Reason  string `json:"reason,omitempty"`
	Verdict string `json:"verdict,omitempty"` // the verdict's id when there is one
	// Missing names what it was sent without, because it is redacted: headers by name,
	// "target" for parameters.
	Missing []string `json:"missing,omitempty"`
}

// Fleets answers GET [PathFleets].
type Fleets struct {
	Fleets []Fleet `json:"fleets"`
}

// Fleet is the state of one fleet at one moment.
type Fleet struct {
	Name     string           `json:"name"`
	State    string           `json:"state"` // "ok", "degraded", "panic" or "down"
	Managed  bool             `json:"managed"`
	Workers  []Worker         `json:"workers"`
	Lane     Lane             `json:"lane"`
	Counters map[string]int64 `json:"counters"`

	Panic     *Panic    `json:"panic,omitempty"`    // nil: health is believed
	Recovery  *Recovery `json:"recovery,omitempty"` // nil: work goes to all workers as it comes
	Pool      *Pool     `json:"pool,omitempty"`     // nil: as many requests as come
	Shard     *Shard    `json:"shard,omitempty"`    // nil: every caller may meet every worker
	Rollout   *Rollout  `json:"rollout,omitempty"`  // the newest rolling restart; nil: there was none since Bezoar started
	Ejections uint64    `json:"ejections"`          // so far
}

// Rollout is a rolling restart of a fleet.
type Rollout struct {
	Number   int       `json:"number"` // of the fleet's, from 1 since Bezoar started
	State    string    `json:"state"`  // "running", "stopped", "done", or "reverted": it stopped, and the settings went back
	Began    time.Time `json:"began"`
	Ended    time.Time `json:"ended,omitzero"`
	Workers  int       `json:"workers"`          // to be replaced
	Replaced int       `json:"replaced"`         // that have proven themselves
	Worker   string    `json:"worker,omitempty"` // that is being replaced, or at which it stopped
	Tries    int       `json:"tries,omitempty"`  // new processes at Worker that did not prove themselves
	Why      string    `json:"why,omitempty"`    // it stopped
	Next     string    `json:"next,omitempty"`   // what to do about that
	Stopped  int       `json:"stopped_so_far"`   // restarts of this fleet that stopped
}

// Worker is one worker of a fleet.
type Worker struct {
	Name     string    `json:"name"`
	Addr     string    `json:"addr"`
	PID      int       `json:"pid,omitempty"`
	State    string    `json:"state"` // "starting", "ready", "draining", "down"
	Lane     bool      `json:"lane,omitempty"`
	Epoch    uint64    `json:"epoch"`
	Since    time.Time `json:"since"` // when the state began
	InFlight int       `json:"in_flight"`
	Served   uint64    `json:"served"` // attempts in this epoch
	Restarts int64     `json:"restarts"`
	LastEnd  *End      `json:"last_end,omitempty"`

	Held    *Held    `json:"held,omitempty"`    // nil: nothing is held against it
	Share   float64  `json:"share"`             // of the work that it would get: below 1 while it starts slowly
	Weight  *int     `json:"weight,omitempty"`  // what it takes for one of weight 1, which nil means; with 0 nothing new
	Results int      `json:"results"`           // of the last seconds
	Failed  int      `json:"failed"`            // of them
	Latency Duration `json:"latency,omitempty"` // recent average
}

// End is how a worker's previous epoch ended.
type End struct {
	At       time.Time    `json:"at"`
	Planned  bool         `json:"planned"`
	Class    bezoar.Class `json:"class"`
	Detail   string       `json:"detail"`
	ExitCode int          `json:"exit_code"`
	Signal   string       `json:"signal,omitempty"`
	Stderr   []string     `json:"stderr,omitempty"`
}

// Recovery is how work goes back to a fleet of which half of the workers have died.
type Recovery struct {
	Runs    int `json:"runs"`    // unproven pieces of work that may run at the same time
	Waiting int `json:"waiting"` // unproven pieces of work that wait for that
}

// Lane is where a fleet's suspects run alone.
type Lane struct {
	Worker  string `json:"worker,omitempty"` // "" when no worker is set aside now
	Open    bool   `json:"open"`             // false when too few workers are healthy
	Waiting int    `json:"waiting"`
}

// Restarting answers POST [PathRestart]: the restart has begun.
type Restarting struct {
	Fleet   string `json:"fleet"`
	Workers int    `json:"workers"` // how many will be replaced, one after another
	Number  int    `json:"number"`  // of the [Rollout]
}

// Event is one thing that happened. Kind says which; the fields that do not
// apply are left out.
type Event struct {
	Seq         uint64             `json:"seq"` // rises by one; a gap means that events were dropped
	At          time.Time          `json:"at"`
	Kind        string             `json:"kind"` // "worker.up", "worker.down", "verdict", "letter", "gate" …
	Fleet       string             `json:"fleet,omitempty"`
	Worker      string             `json:"worker,omitempty"`
	Epoch       uint64             `json:"epoch,omitempty"`
	Class       *bezoar.Class      `json:"class,omitempty"`
	Verdict     string             `json:"verdict,omitempty"`
	State       bezoar.State       `json:"state,omitempty"`
	Fingerprint bezoar.Fingerprint `json:"fingerprint,omitzero"`
	Text        string             `json:"text"` // one line for people
}

// Duration is a time.Duration that travels as text such as "1h30m".
type Duration time.Duration

// MarshalText writes d as time.Duration does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads what time.ParseDuration accepts; "" is 0.
func (d *Duration) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*d = 0
		return nil
	}
	v, err := time.ParseDuration(string(text))
	*d = Duration(v)
	return err
}
