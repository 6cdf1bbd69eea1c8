package triage

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/bezoar-dev/bezoar/queue"
)

// Verb is what is done with letters.
type Verb string

// The verbs.
const (
	Redrive Verb = "redrive" // sent again
	Discard Verb = "discard" // to the trash, where they are for queue.TrashFor
	Restore Verb = "restore" // from the trash to where they were
)

func (v Verb) kind() (queue.MoveKind, error) {
	switch v {
	case Redrive:
		return queue.MoveRedrive, nil
	case Discard:
		return queue.MoveDiscard, nil
	case Restore:
		return queue.MoveRestore, nil
	}
	return "", invalid("Verb: %.40q is none of %s, %s and %s", string(v), Redrive, Discard, Restore)
}

func verbOf(k queue.MoveKind) Verb {
	switch k {
	case queue.MoveDiscard:
		return Discard
	case queue.MoveRestore:
		return Restore
	case queue.MoveRedrive, queue.MoveSQS:
	}
	return Redrive
}

// Actor is who acts, at most 256 bytes; the rest is cut off.
type Actor string

// The defaults of [Options], and its values that say no.
const (
	DefaultRate      = 50
	DefaultCanary    = 5  // of a redrive of more than canaryFrom letters
	DefaultHaltAbove = .2 // share of those that ended
	NoCanary         = -1
	HaltAtFirst      = -1 // HaltAbove: halt when any has failed again
	NeverHalt        = 1  // HaltAbove
	canaryFrom       = 20
	maxCanary        = 10_000
	maxReason        = 1024
)

// Options says how letters are moved. The zero value is useful.
type Options struct {
	Destination string  `json:"destination,omitempty"` // of a redrive; "": the queue each letter came from
	Rate        int     `json:"rate,omitempty"`        // letters a second; 0: DefaultRate
	Canary      int     `json:"canary,omitempty"`      // how many go first; 0: DefaultCanary, if there are many; NoCanary
	HaltAbove   float64 `json:"halt_above,omitempty"`  // share that may fail again; 0: DefaultHaltAbove; HaltAtFirst; NeverHalt
	Reason      string  `json:"reason,omitempty"`      // why, for the log
	Pardon      bool    `json:"pardon,omitempty"`      // of a redrive: forget first what is held against the payloads where they go
}

// Validate reports every field that is out of bounds.
func (o Options) Validate() error {
	var faults []error
	if o.Rate < 0 || o.Rate > queue.MaxTriageRate {
		faults = append(faults, invalid("Rate: %d is not within 0 to %d", o.Rate, queue.MaxTriageRate))
	}
	if o.Canary < NoCanary || o.Canary > maxCanary {
		faults = append(faults, invalid("Canary: %d is not within %d to %d", o.Canary, NoCanary, maxCanary))
	}
	if !(o.HaltAbove == HaltAtFirst || o.HaltAbove >= 0 && o.HaltAbove <= 1) {
		faults = append(faults, invalid("HaltAbove: %v is neither a share of 0 to 1 nor %d", o.HaltAbove, HaltAtFirst))
	}
	if len(o.Reason) > maxReason {
		faults = append(faults, invalid("Reason: %d bytes are more than %d", len(o.Reason), maxReason))
	}
	return errors.Join(faults...)
}

func (o Options) task(v Verb, n int64) queue.MoveTask {
	t := queue.MoveTask{Destination: o.Destination, Rate: o.Rate, Reason: o.Reason, HaltAbove: 1}
	t.Rate = cmp.Or(t.Rate, DefaultRate)
	if v != Redrive {
		return t
	}
	t.Canary, t.HaltAbove = o.Canary, o.HaltAbove
	switch {
	case o.Canary == NoCanary:
		t.Canary = 0
	case o.Canary == 0 && n > canaryFrom:
		t.Canary = DefaultCanary
	}
	switch o.HaltAbove {
	case 0:
		t.HaltAbove = DefaultHaltAbove
	case HaltAtFirst:
		t.HaltAbove = 0
	}
	return t
}

// maxSelection bounds the text of a selection's groups, ids and attributes, so that a plan
// fits into a mark.
const maxSelection = 40 << 10

func (v Verb) check(s queue.Selection, o Options) (queue.Selection, error) {
	if _, err := v.kind(); err != nil {
		return s, err
	}
	if err := o.Validate(); err != nil {
		return s, err
	}
	switch {
	case v == Restore && s.Queue == "":
		s.Queue = queue.TrashQueue
	case v == Restore && s.Queue != queue.TrashQueue:
		return s, invalid("Selection.Queue: %.100q: only what is in the trash can be restored", s.Queue)
	case v != Restore && s.Queue == queue.TrashQueue:
		return s, invalid("Selection.Queue: what is in the trash has to be restored first")
	}
	if v != Redrive && (o.Destination != "" || o.Pardon) {
		return s, invalid("Destination, Pardon: only a redrive has them")
	}
	size := 0
	for _, text := range slices.Concat(s.Groups, s.IDs) {
		size += len(text) + len(`"",`)
	}
	for name, value := range s.Attributes {
		size += len(name) + len(value)
	}
	if size > maxSelection || len(s.Groups) > queue.MaxSelected || len(s.IDs) > queue.MaxSelected {
		return s, invalid("Selection: %d groups and %d ids, with attributes of %d bytes, are more than %d each, or %d bytes: do it in parts",
			len(s.Groups), len(s.IDs), size, queue.MaxSelected, maxSelection)
	}
	return s, nil
}

func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err)
}
