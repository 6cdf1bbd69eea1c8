package queue

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
)

// The bounds of a queue's settings, those of SQS.
const (
	MaxDelay       = 15 * time.Minute
	MaxVisibility  = 12 * time.Hour // in total, since the receive
	MaxWait        = 20 * time.Second
	MinRetention   = time.Minute
	MaxRetention   = 14 * 24 * time.Hour
	MinBytes       = 1024
	MaxBytes       = 1 << 20
	MaxReceiveCap  = 1000 // of DeadLetter.MaxReceives
	MaxTags        = 50
	MaxPriority    = 9
	DedupWindow    = 5 * time.Minute
	maxExtra       = 64
	maxExtraBytes  = 64 << 10
	maxAllowQueues = 10
)

// Queue is one queue as the store has it.
type Queue struct {
	ID       int64 // unique in the store, never used again
	Name     string
	Settings Settings
	Tags     map[string]string
	Created  time.Time
	Modified time.Time
	Version  int64 // grows with every change
}

// Settings says how a queue behaves. Start from DefaultSettings: a duration of zero means
// zero.
type Settings struct {
	FIFO         bool          // fixed at creation; the name ends in .fifo
	ContentDedup bool          // FIFO: the deduplication id of a message without one is the hash of its body
	DedupByGroup bool          // FIFO: deduplicate within the group, not within the queue
	Visibility   time.Duration // how long a receive hides a message
	Delay        time.Duration // how long a new message stays hidden
	Wait         time.Duration // how long a receive waits for a message
	Retention    time.Duration // how long a message is kept after its sending (a dead letter: after its death)
	MaxBytes     int           // body and attributes of a message
	DeadLetter   DeadLetter    // zero: messages are received again without end
	Allow        Allow         // which queues may use this one as their dead-letter queue
	Retry        Retry         // how reported failures are retried
	Quarantine   Quarantine    // when a payload is refused, whatever message it comes in
	Downstream   string        // the group whose breaker and retry budget the queue shares; "": none
	Schema       string        // JSON Schema 2020-12 of bodies, at most MaxSchema bytes; "": none
	SchemaCheck  SchemaCheck   // when bodies are checked against Schema
	KeepExpired  bool          // messages older than Retention go to the dead-letter queue
	SameAs       string        // a fleet of the gateway whose convicted bodies are suspects here; "": none
	// Extra is stored for fronts; the queue ignores it.
	Extra map[string]string
}

// DeadLetter says when a message is set aside, and into which queue.
type DeadLetter struct {
	Queue       string // a queue of the same kind, "" for none
	MaxReceives int    // 1 to MaxReceiveCap
}

// Allow says which queues may use a queue as their dead-letter queue.
type Allow struct {
	Mode   AllowMode
	Queues []string // for AllowNamed, 1 to 10
}

// AllowMode is a mode of Allow.
type AllowMode string

// The modes; "" is AllowAll.
const (
	AllowAll   AllowMode = "allow-all"
	AllowNone  AllowMode = "deny-all"
	AllowNamed AllowMode = "by-queue"
)

func (a Allow) permits(source string) bool {
	switch a.Mode {
	case AllowNone:
		return false
	case AllowNamed:
		return slices.Contains(a.Queues, source)
	}
	return true
}

// DefaultSettings returns the settings of a new standard queue.
func DefaultSettings() Settings {
	return Settings{Visibility: 30 * time.Second, Retention: 4 * 24 * time.Hour, MaxBytes: MaxBytes}
}

// Equal reports whether two settings behave in the same way.
func (s Settings) Equal(o Settings) bool {
	extra, queues := maps.Equal(s.Extra, o.Extra), slices.Equal(s.Allow.Queues, o.Allow.Queues)
	ignore := slices.Equal(s.Quarantine.Ignore, o.Quarantine.Ignore)
	for _, one := range []*Settings{&s, &o} { // copies
		one.Extra, one.Allow.Queues, one.Quarantine.Ignore = nil, nil, nil
	}
	return extra && queues && ignore && reflect.DeepEqual(s, o)
}

// Validate reports every field that is out of bounds.
func (s Settings) Validate() error {
	var faults []error
	fault := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, invalid(format, args...))
		}
	}
	for _, d := range []struct {
		name              string
		value, least, max time.Duration
	}{
		{"Visibility", s.Visibility, 0, MaxVisibility},
		{"Delay", s.Delay, 0, MaxDelay},
		{"Wait", s.Wait, 0, MaxWait},
		{"Retention", s.Retention, MinRetention, MaxRetention},
	} {
		fault(d.value < d.least || d.value > d.max, "%s is %v, want %v to %v", d.name, d.value, d.least, d.max)
	}
	fault(s.MaxBytes < MinBytes || s.MaxBytes > MaxBytes, "MaxBytes is %d, want %d to %d", s.MaxBytes, MinBytes, MaxBytes)
	fault(!s.FIFO && (s.ContentDedup || s.DedupByGroup), "ContentDedup and DedupByGroup: only FIFO queues deduplicate")
	if d := s.DeadLetter; d != (DeadLetter{}) {
		fault(d.Queue == "", "DeadLetter.Queue: is empty")
		fault(d.MaxReceives < 1 || d.MaxReceives > MaxReceiveCap, "DeadLetter.MaxReceives is %d, want 1 to %d", d.MaxReceives, MaxReceiveCap)
	}
	faults = append(faults, s.Allow.validate(), validateExtra(s.Extra))
	faults = append(faults, s.Retry.validate(s), s.Quarantine.validate(), s.validateWork())
	return errors.Join(faults...)
}

func (a Allow) validate() error {
	switch a.Mode {
	case "", AllowAll, AllowNone:
		if len(a.Queues) > 0 {
			return invalid("Allow.Queues: only %s takes queues", AllowNamed)
		}
	case AllowNamed:
		if n := len(a.Queues); n < 1 || n > maxAllowQueues {
			return invalid("Allow.Queues is %d, want 1 to %d queues", n, maxAllowQueues)
		}
	default:
		return invalid("Allow.Mode: %.40q is unknown", string(a.Mode))
	}
	return nil
}

func validateExtra(extra map[string]string) error {
	size := 0
	for k, v := range extra {
		size += len(k) + len(v)
	}
	if len(extra) > maxExtra || size > maxExtraBytes {
		return invalid("Extra: %d entries of %d bytes are more than %d of %d", len(extra), size, maxExtra, maxExtraBytes)
	}
	return nil
}

// validateName checks that a name has 1 to 80 letters, digits, - and _, and ends in .fifo if and only if the queue is a
// FIFO queue.
func validateName(name string, fifo bool) error {
	base, suffixed := strings.CutSuffix(name, ".fifo")
	if len(name) > 80 || !nameForm.MatchString(base) {
		return invalid("Name: %.100q is not 1 to 80 of A-Z, a-z, 0-9, - and _", name)
	}
	if fifo != suffixed {
		return invalid("Name: %q: the names of FIFO queues end in .fifo, and only theirs", name)
	}
	return nil
}

var nameForm = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

func validateTags(tags map[string]string) error {
	if len(tags) > MaxTags {
		return invalid("Tags: %d are more than %d", len(tags), MaxTags)
	}
	for k, v := range tags {
		if k == "" || len(k) > 4*128 || len(v) > 4*256 {
			return invalid("Tags: %.40q has no key, or more than 128 characters in it or 256 in its value", k)
		}
	}
	return nil
}

func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err)
}
