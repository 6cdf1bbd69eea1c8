package bezoar

import (
	"slices"
	"strings"
	"time"
)

// Scope says how much one verdict covers.
type Scope string

// The scopes, from narrow to wide. A quarantine escalates along them only when
// the narrower one does not contain the damage.
const (
	ScopeVariant  Scope = "variant"  // one request as its caller sent it
	ScopeFeature  Scope = "feature"  // the requests of one fingerprint that share something; when they are only laned, those of any
	ScopeWork     Scope = "work"     // one exact fingerprint
	ScopeShape    Scope = "shape"    // everything of one shape
	ScopeEndpoint Scope = "endpoint" // everything at one method and path whose shape is new
	ScopeClient   Scope = "client"   // everything of one caller
)

// State is where a verdict stands.
type State string

// The states of a verdict. Only Quarantined refuses work.
const (
	Suspected   State = "suspect"     // runs in the lane until cleared or convicted
	Quarantined State = "quarantined" // refused until Until, then probed
	Probing     State = "probing"     // one real copy is being tried in the lane
	Conditional State = "conditional" // kills only under load: pinned to the lane, never refused
	Laned       State = "laned"       // a shape, a client or features whose unproven work runs in the lane
)

// Verdict is what is held against a piece of work, a shape or a client, with
// everything needed to explain it to the person whose request is refused.
type Verdict struct {
	ID          string      `json:"id"` // "q-" and 12 hexadecimal digits
	Scope       Scope       `json:"scope"`
	State       State       `json:"state"`
	Fingerprint Fingerprint `json:"fingerprint"`      // of the work, shape or client, by Scope
	Variant     Fingerprint `json:"variant,omitzero"` // of ScopeVariant
	Client      Fingerprint `json:"client,omitzero"`  // of ScopeFeature: only this caller's; zero for everybody's
	Shape       Fingerprint `json:"shape"`            // zero when unknown
	Fleet       string      `json:"fleet"`
	Route       string      `json:"route,omitempty"`
	Cause       Class       `json:"cause"`
	Reason      string      `json:"reason"`           // one sentence for people
	Sample      string      `json:"sample,omitempty"` // method and target, at most 200 bytes
	Score       float64     `json:"score"`            // blame gathered, in crashes
	Level       int         `json:"level"`            // how often convicted; each doubles the time
	Since       time.Time   `json:"since"`
	Until       time.Time   `json:"until"`                 // when the next copy may probe
	Refused     int64       `json:"refused"`               // copies refused so far
	Manual      bool        `json:"manual,omitempty"`      // an operator's own
	ReportOnly  bool        `json:"report_only,omitempty"` // its route only reports: it refuses and isolates nothing
	Node        string      `json:"node,omitempty"`        // the process that decided last, where several share a store
	Evidence    []Evidence  `json:"evidence,omitempty"`    // at most MaxEvidence, newest last

	// What tells killers apart from successes, of ScopeFeature. The hashes are
	// keyed; the texts hold no secrets.
	Features      []string `json:"features,omitempty"`
	FeatureHashes []uint64 `json:"feature_hashes,omitempty"`
	Killers       int      `json:"killers,omitempty"`   // variants that killed alone; of what is laned: deaths since it was escalated
	Successes     int      `json:"successes,omitempty"` // that they were compared with

	Pace     float64  `json:"pace,omitempty"`      // of what is laned: unproven work a second
	SidePace float64  `json:"side_pace,omitempty"` // … and what is unlike the killers
	Late     bool     `json:"late,omitempty"`      // of what is laned: it kills after its answers
	Why      []string `json:"why,omitempty"`       // for people: which deaths, which level, why not wider or narrower, what frees it
}

// MaxEvidence bounds the crashes kept with one verdict.
const MaxEvidence = 8

// MaxOthers bounds the fellow suspects kept with one crash.
const MaxOthers = 8

// Evidence is one epoch's end as seen from one piece of work in flight.
type Evidence struct {
	Worker   string    `json:"worker"`
	Epoch    uint64    `json:"epoch"`
	At       time.Time `json:"at"`
	Class    Class     `json:"class"`
	Detail   string    `json:"detail"`           // "signal: segmentation fault (core dumped)"
	ExitCode int       `json:"exit_code"`        // -1 when killed by a signal or unknown
	Signal   string    `json:"signal,omitempty"` // "SIGSEGV"
	Stderr   []string  `json:"stderr,omitempty"` // last lines, bounded
	Lane     bool      `json:"lane,omitempty"`   // it died alone in the lane
	InFlight int       `json:"in_flight"`        // how much work was in flight
	Share    float64   `json:"share"`            // this work's part of the blame
	Others   []Suspect `json:"others,omitempty"` // the largest other shares, at most MaxOthers
}

// IsStrike reports whether no worker died: the work's answer was overdue, or its connection broke.
func (e *Evidence) IsStrike() bool {
	return e.Worker == "" && e.Share == 0 && (e.Class == Timeout || e.Class == Bug)
}

// Suspect is a fellow in flight in a crash, by share of the blame.
type Suspect struct {
	Fingerprint Fingerprint `json:"fingerprint"`
	Share       float64     `json:"share"`
}

// Letter is a dead letter: work set aside with its evidence, waiting for triage.
type Letter struct {
	ID          string      `json:"id"` // "dl-" and 12 hexadecimal digits
	Fingerprint Fingerprint `json:"fingerprint"`
	Variant     Fingerprint `json:"variant,omitzero"` // zero: the letter is of the fingerprint as a whole
	Shape       Fingerprint `json:"shape"`
	Verdict     string      `json:"verdict"` // the verdict's id at the time
	Fleet       string      `json:"fleet"`
	Route       string      `json:"route,omitempty"`
	Class       Class       `json:"class"`
	Reason      string      `json:"reason"`
	First       time.Time   `json:"first"`
	Last        time.Time   `json:"last"`
	Copies      int64       `json:"copies"` // how many identical copies were set aside
	Request     Request     `json:"request"`
	Evidence    []Evidence  `json:"evidence,omitempty"`
}

// Key tells letters of one fleet apart: the variant, or the fingerprint of a letter
// that has none.
func (l *Letter) Key() Fingerprint {
	if l.Variant.IsZero() {
		return l.Fingerprint
	}
	return l.Variant
}

// Redacted stands in kept requests for values that are not kept.
const Redacted = "[redacted]"

// Missing returns what a redrive of the request lacks, sorted: header fields with a
// redacted value, Upgrade, which is of one connection, and "target" for a redacted
// parameter.
func (r *Request) Missing() []string {
	var names []string
	redacted := func(values []string) bool {
		return slices.ContainsFunc(values, func(v string) bool { return strings.Contains(v, Redacted) })
	}
	for name, values := range r.Header {
		if name == "Upgrade" || redacted(values) || redacted(r.Trailer[name]) {
			names = append(names, name)
		}
	}
	for name, values := range r.Trailer {
		if redacted(values) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if strings.Contains(r.Target, Redacted) {
		names = append(names, "target")
	}
	return names
}

// Request is a kept HTTP request. Secrets are redacted before it is built.
type Request struct {
	Method    string              `json:"method"`
	Target    string              `json:"target"` // path and query as received
	Host      string              `json:"host"`
	Header    map[string][]string `json:"header,omitempty"`
	Order     []string            `json:"order,omitempty"` // the names in Header as the caller sent them, in order; to send the same again
	Body      []byte              `json:"body,omitempty"`
	Trailer   map[string][]string `json:"trailer,omitempty"`   // fields behind the body
	BodySize  int64               `json:"body_size"`           // of the whole body; -1 unknown
	Truncated bool                `json:"truncated,omitempty"` // Body is only the head: cannot be redriven
	Digest    Fingerprint         `json:"digest,omitzero"`     // of the whole body when it streamed by: tells apart what only begins alike
	Client    string              `json:"client,omitempty"`    // the caller's address
}
