package judge

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/faults"
	"github.com/bezoar-dev/bezoar/internal/state/facts"
	"github.com/bezoar-dev/bezoar/policy/backoff"
	"github.com/bezoar-dev/bezoar/policy/breaker"
	"github.com/bezoar-dev/bezoar/policy/budget"
	"github.com/bezoar-dev/bezoar/policy/outage"
	"github.com/bezoar-dev/bezoar/policy/poison"
)

// maxLocalGroups bounds the downstream groups of a Local.
const maxLocalGroups = 1000

// LocalConfig says how to judge. Only Facts and Queue are required.
type LocalConfig struct {
	Facts      *facts.Store
	Queue      string // its name; cases and pauses belong to it
	Downstream string // the group that its messages depend on; "": none
	Poison     poison.Config
	Outage     outage.Config
	Breaker    breaker.Config // its Node is this process's name
	Retry      backoff.Config
	Budget     budget.Config
	Log        *slog.Logger // nil discards
}

// Validate reports every field that is at fault.
func (c LocalConfig) Validate() error {
	var missing error
	if c.Facts == nil || c.Queue == "" {
		missing = errors.New("Facts or Queue: is missing")
	}
	return errors.Join(missing, c.ValidatePolicies())
}

// ValidatePolicies reports every policy that is at fault.
func (c LocalConfig) ValidatePolicies() error {
	var errs faults.List
	for _, f := range []struct {
		name string
		err  error
	}{
		{"Poison", c.Poison.Validate()},
		{"Outage", c.Outage.Validate()},
		{"Breaker", c.Breaker.Validate()},
		{"Retry", c.Retry.Validate()},
		{"Budget", c.Budget.Validate()},
	} {
		errs.If(f.err != nil, "%s: %w", f.name, f.err)
	}
	return errors.Join(errs...)
}

// Local judges one queue that does not judge itself: a [Judge] whose marks are in the workers' fact store, and the cases of
// payloads in the same store. No call waits longer than the fact store does. It is safe for concurrent use.
type Local struct {
	cfg   LocalConfig
	judge *Judge
	src   Source
	seed  maphash.Seed
}

func NewLocal(c LocalConfig) (*Local, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("make a judge: %w", err)
	}
	c.Retry = c.Retry.WithDefaults()
	keys := []string{newMark(outageMarks, c.Queue).key}
	if c.Downstream != "" {
		keys = append(keys, newMark(breakerMarks, c.Downstream).key)
	}
	return &Local{
		cfg:   c,
		judge: New(Config{Store: localMarks{c.Facts, keys}, Shared: true, Outage: c.Outage, Breaker: c.Breaker, Max: maxLocalGroups, Log: c.Log}),
		src:   Source{Queue: c.Queue, Group: c.Downstream, Budget: c.Budget},
		seed:  maphash.MakeSeed(),
	}, nil
}

// Gate asks whether messages may be received.
func (l *Local) Gate(now time.Time) Pass {
	l.judge.Refresh(context.Background(), now)
	return l.judge.Gate(context.Background(), now, l.src, 0)
}

// Waste gives back permission for which there was no message.
func (l *Local) Waste(now time.Time, t *Trial) { l.judge.Waste(context.Background(), now, t) }

// Leave is for a worker that receives nothing more.
func (l *Local) Leave(now time.Time) { l.judge.Leave(context.Background(), now) }

// Returned gives back permission whose message says nothing.
func (l *Local) Returned(now time.Time, t *Trial) {
	l.judge.Returned(context.Background(), now, t, bezoar.Interrupted, "")
}

// Admission says what may be done with a received message.
type Admission struct {
	Refuse bool // set it aside, undelivered
	Alone  bool // its payload is suspect
	Case   Case
}

// Admit decides about a message. brief says that its body is brief: see [poison.Case.Brief].
func (l *Local) Admit(now time.Time, payload bezoar.Fingerprint, brief bool, t *Trial) (a Admission, err error) {
	if payload.IsZero() {
		return a, nil
	}
	err = l.cfg.Facts.View(func(tx *facts.Tx) error {
		known, err := tx.Get(l.caseKey(payload), &a.Case)
		if err != nil || !known {
			return err
		}
		seen := &a.Case.Case
		if brief {
			seen = seen.Brief()
		}
		switch l.cfg.Poison.Admit(seen, false, true, now.UnixMicro()) {
		case poison.Refuse:
			a.Refuse = true
		case poison.Alone:
			a.Alone = true
		case poison.Deliver, poison.Wait:
		}
		return nil
	})
	if t != nil {
		t.Alone = a.Alone
	}
	return a, err
}

// First counts a first attempt. The retry budget is a share of them.
func (l *Local) First(now time.Time) { l.judge.First(now, l.src, 1) }

// Done records a message that was done.
func (l *Local) Done(now time.Time, id string, payload bezoar.Fingerprint, t *Trial) error {
	l.judge.Worked(context.Background(), now, l.src, payload, l.hash(id), t)
	if !l.known(payload) {
		return nil
	}
	return l.cfg.Facts.Update(func(tx *facts.Tx) error {
		tx.Drop(l.caseKey(payload)) // proven and unknown are the same here, because no copies wait
		return nil
	})
}

func (l *Local) known(payload bezoar.Fingerprint) (known bool) {
	if payload.IsZero() {
		return false
	}
	_ = l.cfg.Facts.View(func(tx *facts.Tx) error { // Update reads again and reports the error
		known = tx.Has(l.caseKey(payload))
		return nil
	})
	return known
}

// Ending is how the run of a message ended, if it did not end well.
type Ending struct {
	ID         string
	Payload    bezoar.Fingerprint
	Class      bezoar.Class
	Failure    string // failure fingerprint
	Reason     string
	Votes      int           // how often in a row the same failure must occur; 0: never enough
	Span       time.Duration // least time over which they must occur
	Weak       bool          // the cause of the death is unknown
	Downstream string        // the group that failed; "": the queue's
	RetryAfter time.Duration // not earlier
	Receives   int
	Received   time.Time
	Holding    int // as in package queue: messages of a worker that died
	Trial      *Trial
}

// Sentence says what happens to a message.
type Sentence struct {
	Dead  bool
	Delay time.Duration // until it is tried again
	Why   string        // for people
}

// Failed judges an ending.
func (l *Local) Failed(now time.Time, e Ending) (s Sentence, err error) {
	r := l.judge.Failed(context.Background(), now, l.src, Failure{
		Class: e.Class, Failure: e.Failure, Payload: e.Payload, ID: l.hash(e.ID), Group: e.Downstream, Trial: e.Trial,
	})
	switch {
	case r.Excused && r.Until.IsZero():
		return Sentence{Why: r.Why}, nil
	case r.Excused:
		return Sentence{Delay: max(r.Until.Sub(now), e.RetryAfter, time.Second), Why: r.Why}, nil
	case r.Broke:
		s.Delay = max(l.cfg.Retry.Cap, e.RetryAfter)
	default:
		s.Delay = max(l.cfg.Retry.After(max(e.Receives-1, 0), 0, rand.Float64()), e.RetryAfter)
	}
	if e.Class == bezoar.Invalid {
		s.Dead, s.Why = true, "it is invalid"
		return s, nil
	}
	if e.Payload.IsZero() {
		return s, nil
	}
	err = l.cfg.Facts.Update(func(tx *facts.Tx) error { return l.message(tx, now, e, &s) })
	return s, err
}

// hash identifies a message whose payload is not recognised. It is valid only in this process, where the guard keeps it.
func (l *Local) hash(id string) uint64 { return maphash.String(l.seed, id) }
