package judge

import (
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/facts"
	"github.com/bezoar-dev/bezoar/policy/backoff"
	"github.com/bezoar-dev/bezoar/policy/breaker"
	"github.com/bezoar-dev/bezoar/policy/budget"
	"github.com/bezoar-dev/bezoar/policy/outage"
	"github.com/bezoar-dev/bezoar/policy/poison"
)

const maxGroups = 1000

// Config says how to judge. Facts and Queue are required; the rest is useful at
// zero.
type Config struct {
	Facts      *facts.Store
	Queue      string // its name; cases and pauses are its own
	Downstream string // the group that its messages depend on; "" for none
	Poison     poison.Config
	Outage     outage.Config
	Breaker    breaker.Config // its Node is this process's name
	Retry      backoff.Config
	Budget     budget.Config
	Log        *slog.Logger // nil discards
}

// Validate reports every field that is at fault.
func (c Config) Validate() error {
	var missing error
	if c.Facts == nil || c.Queue == "" {
		missing = errors.New("Facts or Queue: is missing")
	}
	return errors.Join(missing, c.ValidatePolicies())
}

// ValidatePolicies reports every policy that is at fault.
func (c Config) ValidatePolicies() error {
	var faults []error
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
		if f.err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", f.name, f.err))
		}
	}
	return errors.Join(faults...)
}

// Judge judges one queue. It is safe for concurrent use.
type Judge struct {
	cfg  Config
	seed maphash.Seed

	mu       sync.Mutex // guards all below; taken within transactions of the fact store, never around them
	guard    outage.Guard
	budget   budget.Budget
	breakers map[string]*group
}

type group struct {
	breaker breaker.Breaker
	budget  budget.Budget
}

// New returns a judge.
func New(c Config) (*Judge, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("make a judge: %w", err)
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.Retry = c.Retry.WithDefaults()
	return &Judge{
		cfg: c, seed: maphash.MakeSeed(), guard: outage.Guard{Config: c.Outage}, budget: budget.Budget{Config: c.Budget}, breakers: map[string]*group{},
	}, nil
}

// Trial is leave for one message, which shows whether it works again.
type Trial struct {
	canary uint64
	group  string
	ticket breaker.Ticket
	probe  bool
	alone  bool // it was a suspect: that it failed says nothing
}

// Gate is what may be received now.
type Gate struct {
	Open  bool
	Trial *Trial        // with Open: one message only, if not nil
	Wait  time.Duration // if not Open: when to ask again
	Why   string
}

// Gate asks whether messages may be received.
func (j *Judge) Gate(now time.Time) (g Gate, err error) {
	if err := j.cfg.Facts.View(func(tx *facts.Tx) error {
		j.mu.Lock()
		defer j.mu.Unlock()
		err := j.merge(tx, now, j.cfg.Downstream)
		g.Open = j.open(now)
		return err
	}); err != nil {
		return Gate{}, err
	}
	if g.Open {
		return g, nil
	}
	err = j.update(now, j.cfg.Downstream, func(*facts.Tx) error {
		g = j.trial(now, j.group(j.cfg.Downstream))
		return nil
	})
	return g, err
}

// open reports whether anything may be received: nothing pauses, no breaker is
// open.
func (j *Judge) open(now time.Time) bool {
	own := j.group(j.cfg.Downstream)
	_, paused := j.guard.Paused()
	return !paused && (own == nil || own.breaker.State(now) == breaker.Closed)
}

func (j *Judge) trial(now time.Time, own *group) Gate {
	t := &Trial{}
	if own != nil && own.breaker.State(now) != breaker.Closed {
		ticket, d := own.breaker.Allow(now)
		if !d.Allowed {
			return Gate{Wait: d.RetryAfter, Why: "the breaker of " + j.cfg.Downstream + " is open: " + d.Reason}
		}
		t.group, t.ticket, t.probe = j.cfg.Downstream, ticket, d.Probe
	}
	if pause, paused := j.guard.Paused(); paused {
		canary, ok := j.guard.Canary(now)
		if !ok {
			j.waste(now, t)
			return Gate{Wait: max(pause.Until.Sub(now), time.Millisecond), Why: pause.Why}
		}
		t.canary = canary
	}
	return Gate{Open: true, Trial: t}
}

// Waste gives back a leave that was not used, or whose message says nothing.
func (j *Judge) Waste(now time.Time, t *Trial) error {
	if t == nil {
		return nil
	}
	return j.update(now, t.group, func(*facts.Tx) error {
		j.waste(now, t)
		return nil
	})
}

func (j *Judge) waste(now time.Time, t *Trial) {
	if g := j.group(t.group); g != nil && t.probe {
		g.breaker.Done(now, t.ticket, breaker.Result{Ignored: true}, rand.Float64())
	}
	if t.canary != 0 {
		j.guard.Returned(now, t.canary, outage.Lost, "")
	}
}

// update runs f as a transaction in which pause and breaker are as all others
// know them, and tells what has become of them.
func (j *Judge) update(now time.Time, downstream string, f func(*facts.Tx) error) error {
	return j.cfg.Facts.Update(func(tx *facts.Tx) error {
		j.mu.Lock()
		defer j.mu.Unlock()
		if err := j.merge(tx, now, downstream); err != nil {
			return err
		}
		if err := f(tx); err != nil {
			return err
		}
		return j.store(tx, downstream)
	})
}

func (j *Judge) pauseKey() string         { return "outage/" + j.cfg.Queue }
func breakerKey(downstream string) string { return "breaker/" + downstream }
func (j *Judge) caseKey(p bezoar.Fingerprint) string {
	return "case/" + j.cfg.Queue + "/" + p.String()
}

func (j *Judge) merge(tx *facts.Tx, now time.Time, downstream string) error {
	var pause outage.Snapshot
	if ok, err := tx.Get(j.pauseKey(), &pause); err != nil {
		return err
	} else if ok {
		j.guard.Merge(now, pause)
	}
	g := j.group(downstream)
	if g == nil {
		return nil
	}
	var snapshot breaker.Snapshot
	ok, err := tx.Get(breakerKey(downstream), &snapshot)
	if ok && err == nil {
		g.breaker.Merge(now, snapshot)
	}
	return err
}

func (j *Judge) store(tx *facts.Tx, downstream string) error {
	var pause outage.Snapshot
	if _, err := tx.Get(j.pauseKey(), &pause); err != nil {
		return err
	}
	if is := j.guard.Snapshot(); is != pause {
		if err := tx.Put(j.pauseKey(), is); err != nil {
			return err
		}
	}
	g := j.group(downstream)
	if g == nil {
		return nil
	}
	var snapshot breaker.Snapshot
	if _, err := tx.Get(breakerKey(downstream), &snapshot); err != nil {
		return err
	}
	if is := g.breaker.Snapshot(); is != snapshot {
		return tx.Put(breakerKey(downstream), is)
	}
	return nil
}

// group returns what is known of a downstream, nil for none.
func (j *Judge) group(name string) *group {
	if name == "" {
		return nil
	}
	g := j.breakers[name]
	if g == nil {
		if len(j.breakers) >= maxGroups {
			for other := range j.breakers {
				if other != j.cfg.Downstream {
					delete(j.breakers, other)
					break
				}
			}
		}
		g = &group{breaker: breaker.Breaker{Config: j.cfg.Breaker}, budget: budget.Budget{Config: j.cfg.Budget}}
		j.breakers[name] = g
	}
	return g
}
