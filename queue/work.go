package queue

import (
	"cmp"
	"time"

	"github.com/bezoar-dev/bezoar/internal/queue/schema"
	"github.com/bezoar-dev/bezoar/policy/backoff"
	"github.com/bezoar-dev/bezoar/policy/budget"
	"github.com/bezoar-dev/bezoar/policy/poison"
)

// The bounds of what a queue knows of its work.
const (
	MaxSchema    = 64 << 10 // bytes of Settings.Schema
	MaxIgnore    = 32       // of Quarantine.Ignore
	MaxAttemptsN = 1000     // of Retry.Attempts
	maxGroupName = 80       // of Settings.Downstream and SameAs
	// BriefBytes is the length below which a body is [Brief].
	BriefBytes = 12
	// DefaultMinBytes is the shortest body that is recognised by default: any.
	DefaultMinBytes = 1
)

// Retry says how a reported failure is retried. A delivery without a report comes back
// when its lease ends, as on SQS. The zero value is full jitter from 1 s to 5 min, without
// end.
type Retry struct {
	Strategy backoff.Strategy `json:",omitempty"` // "" is full jitter
	Base     time.Duration    `json:",omitempty"` // default 1 s
	Cap      time.Duration    `json:",omitempty"` // default 5 min, at most MaxVisibility
	Attempts int              `json:",omitempty"` // deliveries, including the first; 0: as DeadLetter.MaxReceives says
	// Deadline is the age, from its sending, at which a message is given up; 0: never.
	// Settings whose Attempts may take longer are refused.
	Deadline time.Duration `json:",omitempty"`
	Budget   budget.Config `json:",omitzero"` // share of the traffic that retries may add; retries beyond it wait for Cap
}

// Backoff returns the policy that r describes.
func (r Retry) Backoff() backoff.Config {
	return backoff.Config{Strategy: r.Strategy, Base: r.Base, Cap: r.Cap}.WithDefaults()
}

func (r Retry) validate(s Settings) error {
	b := r.Backoff()
	if err := b.Validate(); err != nil {
		return invalid("Retry: %v", err)
	}
	if b.Cap > MaxVisibility {
		return invalid("Retry.Cap: %v is more than %v", b.Cap, MaxVisibility)
	}
	if r.Attempts < 0 || r.Attempts > MaxAttemptsN {
		return invalid("Retry.Attempts is %d, want 0 to %d", r.Attempts, MaxAttemptsN)
	}
	if r.Deadline < 0 || r.Deadline > MaxRetention {
		return invalid("Retry.Deadline is %v, want 0 to %v", r.Deadline, MaxRetention)
	}
	if err := r.Budget.Validate(); err != nil {
		return invalid("Retry.Budget: %v", err)
	}
	return r.inTime(s)
}

// inTime checks that the deadline leaves room for all attempts: each may take the whole visibility, and each wait its
// longest.
func (r Retry) inTime(s Settings) error {
	n := r.Attempts
	n = cmp.Or(n, s.DeadLetter.MaxReceives)
	if r.Deadline == 0 || n == 0 {
		return nil
	}
	waits := r.Backoff().RetryBound(n)
	work := time.Duration(n) * s.Visibility
	if all := s.Delay + work + waits; all > r.Deadline {
		return invalid("Retry.Deadline: %v is less than the worst case of %v: delay %v + %d attempts × visibility %v = %v, + waits %s; lower Attempts, Cap or the visibility, or raise the deadline",
			r.Deadline, all, s.Delay, n, s.Visibility, work, r.Backoff().Explain(n))
	}
	return nil
}

// Quarantine says when a payload is refused. The zero value means after two
// deaths, for 15 min doubling to 24 h.
type Quarantine struct {
	Off      bool          `json:",omitempty"` // payloads are not recognised
	After    int           `json:",omitempty"` // deaths of workers; 1 to 8, default 2
	For      time.Duration `json:",omitempty"` // default 15 min
	Max      time.Duration `json:",omitempty"` // default 24 h
	MinBytes int           `json:",omitempty"` // a shorter body is not shared with copies: only its own message counts; default DefaultMinBytes, 1 to MaxBytes
	Ignore   []string      `json:",omitempty"` // JSON paths that are left out of the identity of a payload: $.at, $.trace.id
}

// Poison returns the policy that q describes.
func (q Quarantine) Poison() poison.Config {
	return poison.Config{Off: q.Off, After: q.After, For: q.For, Max: q.Max}.WithDefaults()
}

func (q Quarantine) validate() error {
	if err := q.Poison().Validate(); err != nil {
		return invalid("Quarantine: %v", err)
	}
	if q.MinBytes < 0 || q.MinBytes > MaxBytes {
		return invalid("Quarantine.MinBytes is %d, want 0 to %d", q.MinBytes, MaxBytes)
	}
	if len(q.Ignore) > MaxIgnore {
		return invalid("Quarantine.Ignore: %d paths are more than %d", len(q.Ignore), MaxIgnore)
	}
	if err := ignoring(q.Ignore).Validate(); err != nil {
		return invalid("Quarantine.%v", err)
	}
	return nil
}

// SchemaCheck says when bodies are checked against a schema.
type SchemaCheck string

// The times; "" is CheckReject.
const (
	CheckReject     SchemaCheck = "reject"      // at send, which fails
	CheckDeadLetter SchemaCheck = "dead-letter" // at receive: the message is set aside
)

func (s Settings) validateWork() error {
	switch {
	case len(s.Schema) > MaxSchema:
		return invalid("Schema: %d bytes are more than %d", len(s.Schema), MaxSchema)
	case s.SchemaCheck != "" && s.SchemaCheck != CheckReject && s.SchemaCheck != CheckDeadLetter:
		return invalid("SchemaCheck: %.40q is neither %s nor %s", string(s.SchemaCheck), CheckReject, CheckDeadLetter)
	case len(s.Downstream) > maxGroupName || len(s.SameAs) > maxGroupName || !plain(s.Downstream, s.SameAs):
		return invalid("Downstream, SameAs: longer than %d bytes, holds a NUL, or is no UTF-8", maxGroupName)
	}
	if s.Schema != "" {
		if _, err := schema.Compile(s.Schema); err != nil {
			return invalid("Schema: %v", err)
		}
	}
	return nil
}
