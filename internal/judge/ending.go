package judge

import (
	"fmt"
	"hash/maphash"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/facts"
	"github.com/bezoar-dev/bezoar/policy/breaker"
	"github.com/bezoar-dev/bezoar/policy/outage"
	"github.com/bezoar-dev/bezoar/policy/poison"
)

// Admission is what may be done with a message that was received.
type Admission struct {
	Refuse bool // set it aside, undelivered
	Alone  bool // its payload is suspect
	Case   Case
}

// Admit asks what may be done with a message. brief says that its body is: see
// [poison.Case.Brief].
func (j *Judge) Admit(now time.Time, payload bezoar.Fingerprint, brief bool, t *Trial) (a Admission, err error) {
	if payload.IsZero() {
		return a, nil
	}
	err = j.cfg.Facts.View(func(tx *facts.Tx) error {
		known, err := tx.Get(j.caseKey(payload), &a.Case)
		if err != nil || !known {
			return err
		}
		seen := &a.Case.Case
		if brief {
			seen = seen.Brief()
		}
		switch j.cfg.Poison.Admit(seen, false, true, now.UnixMicro()) {
		case poison.Refuse:
			a.Refuse = true
		case poison.Alone:
			a.Alone = true
		case poison.Deliver, poison.Wait:
		}
		return nil
	})
	if t != nil {
		t.alone = a.Alone
	}
	return a, err
}

// First counts a first attempt, on which the retry budget rests.
func (j *Judge) First(now time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.budget.First(now)
	if g := j.group(j.cfg.Downstream); g != nil {
		g.budget.First(now)
	}
}

// Done takes a message that was done.
func (j *Judge) Done(now time.Time, id string, payload bezoar.Fingerprint, t *Trial) error {
	if t != nil || j.known(payload) {
		return j.update(now, j.cfg.Downstream, func(tx *facts.Tx) error {
			j.succeeded(now, id, payload, t)
			return j.worked(tx, now, payload)
		})
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.succeeded(now, id, payload, nil)
	return nil
}

func (j *Judge) succeeded(now time.Time, id string, payload bezoar.Fingerprint, t *Trial) {
	j.guard.Succeeded(now, payload, j.hash(id))
	if t != nil && t.canary != 0 {
		j.guard.Returned(now, t.canary, outage.Worked, "")
	}
	g := j.group(j.cfg.Downstream)
	switch {
	case g == nil:
	case t != nil && t.probe:
		g.breaker.Done(now, t.ticket, breaker.Result{}, rand.Float64())
	default:
		if ticket, d := g.breaker.Allow(now); d.Allowed && !d.Probe {
			g.breaker.Done(now, ticket, breaker.Result{}, rand.Float64())
		}
	}
}

func (j *Judge) known(payload bezoar.Fingerprint) (known bool) {
	if payload.IsZero() {
		return false
	}
	var c Case
	_ = j.cfg.Facts.View(func(tx *facts.Tx) (err error) { // what cannot be read is read again, and complained of, by the update
		known, err = tx.Get(j.caseKey(payload), &c)
		known = known || err != nil
		return nil
	})
	return known
}

func (j *Judge) worked(tx *facts.Tx, now time.Time, payload bezoar.Fingerprint) error {
	if payload.IsZero() {
		return nil
	}
	var c Case
	if known, err := tx.Get(j.caseKey(payload), &c); !known || err != nil {
		return err
	}
	tx.Drop(j.caseKey(payload)) // proven or unknown is the same here: nobody waits for copies
	return nil
}

// Ending is how a message's run ended that did not end well.
type Ending struct {
	ID         string
	Payload    bezoar.Fingerprint
	Class      bezoar.Class
	Failure    string // failure fingerprint
	Reason     string
	Votes      int           // how often in a row the same failure is enough; 0: however often
	Span       time.Duration // over which time at least
	Weak       bool          // nobody knows what it died of
	Downstream string        // the group that failed; "": the queue's
	RetryAfter time.Duration // no earlier
	Receives   int
	Received   time.Time
	Holding    int // as in package queue: of a worker that died
	Trial      *Trial
}

// Ruling is what becomes of the message.
type Ruling struct {
	Dead  bool
	Delay time.Duration // until it is tried again
	Why   string        // for people
}

// Failed judges an ending.
func (j *Judge) Failed(now time.Time, e Ending) (ruling Ruling, err error) {
	if free(e.Class) {
		return Ruling{Why: "it is not to blame"}, j.Waste(now, e.Trial)
	}
	if e.Class == bezoar.Throttled || e.Class == bezoar.Outage || e.Class == bezoar.Transient {
		e.Votes = 0 // what passes is no poison, however often it comes
	}
	group := e.Downstream
	if group == "" {
		group = j.cfg.Downstream
	}
	var told notices
	defer func() { told.log(j.cfg.Log) }() // when nobody waits for it any more
	err = j.update(now, group, func(tx *facts.Tx) error {
		ruling = Ruling{}
		excused := j.everything(now, e, &ruling, &told)
		j.downstream(now, e, group, &told)
		if excused {
			return nil
		}
		ruling.Delay = j.wait(now, e, group)
		if e.Class == bezoar.Invalid {
			ruling.Dead, ruling.Why = true, "it is invalid"
			return nil
		}
		return j.message(tx, now, e, &ruling)
	})
	return ruling, err
}

// everything asks whether all kinds of messages fail alike: then this one is
// excused.
func (j *Judge) everything(now time.Time, e Ending, ruling *Ruling, told *notices) bool {
	failure := alike(e)
	if t := e.Trial; t != nil && t.canary != 0 {
		end := outage.Failed
		if t.alone || e.Class == bezoar.Invalid {
			end = outage.Lost
		}
		j.guard.Returned(now, t.canary, end, e.Failure)
	}
	if !j.guard.Excuses(failure) {
		trip := j.guard.Failed(now, failure, e.Payload, j.hash(e.ID))
		if trip == nil {
			return false
		}
		told.add("receiving pauses: it looks like an outage", "queue", j.cfg.Queue, "until", trip.Until, "failure", trip.Failure, "why", trip.Why)
	}
	pause, _ := j.guard.Paused()
	ruling.Delay, ruling.Why = max(pause.Until.Sub(now), e.RetryAfter, time.Second), "it is the outage's: "+pause.Why
	return true
}

func (j *Judge) downstream(now time.Time, e Ending, group string, told *notices) {
	g := j.group(group)
	if g == nil {
		return
	}
	if t := e.Trial; t != nil && t.probe && t.group == group {
		g.breaker.Done(now, t.ticket, breaker.Result{Failed: true, Ignored: !blamesDownstream(e.Class)}, rand.Float64())
		return
	}
	if !blamesDownstream(e.Class) {
		return
	}
	if ticket, d := g.breaker.Allow(now); d.Allowed && !d.Probe && g.breaker.Done(now, ticket, breaker.Result{Failed: true}, rand.Float64()) {
		told.add("breaker opened", "group", group, "why", g.breaker.Snapshot().Reason)
	}
}

// wait is how long the message waits before it is tried again.
func (j *Judge) wait(now time.Time, e Ending, group string) time.Duration {
	ok := j.budget.Retry(now)
	if g := j.group(group); ok && g != nil {
		ok = g.budget.Retry(now)
	}
	if !ok {
		return max(j.cfg.Retry.Cap, e.RetryAfter)
	}
	return max(j.cfg.Retry.After(max(e.Receives-1, 0), 0, rand.Float64()), e.RetryAfter)
}

// message judges the payload.
func (j *Judge) message(tx *facts.Tx, now time.Time, e Ending, ruling *Ruling) error {
	if e.Payload.IsZero() {
		return nil
	}
	key := j.caseKey(e.Payload)
	var c Case
	var was *poison.Case
	known, err := tx.Get(key, &c)
	if err != nil {
		return err
	}
	if known {
		was = &c.Case
	}
	repeated := c.vote(e, now)
	end := poison.End{Class: e.Class, Reason: e.Reason, Holding: e.Holding, Weak: e.Weak, Received: e.Received.UnixMicro()}
	next, dead := j.cfg.Poison.Fail(was, end, now.UnixMicro())
	if next == nil {
		return nil
	}
	c.Case = *next
	c.Case.Failure = e.Failure
	switch {
	case dead:
		ruling.Dead, ruling.Why = true, fmt.Sprintf("its payload is convicted: %s", c.Reason)
	case repeated:
		ruling.Dead, ruling.Why = true, fmt.Sprintf("the same failure %d times", c.Times)
	}
	return j.keep(tx, now, key, c)
}

// notices are warnings that are logged once no lock is held: a log may block.
type notices []notice

type notice struct {
	text string
	args []any
}

func (n *notices) add(text string, args ...any) { *n = append(*n, notice{text, args}) }

func (n *notices) log(log *slog.Logger) {
	for _, w := range *n {
		log.Warn(w.text, w.args...)
	}
}

func alike(e Ending) string {
	switch {
	case e.Class == bezoar.Invalid:
		return ""
	case e.Failure == "" && e.Class == bezoar.Outage:
		return e.Class.String()
	}
	return e.Failure
}

func free(c bezoar.Class) bool { return c == bezoar.Interrupted || c == bezoar.SpawnFailed }

func blamesDownstream(c bezoar.Class) bool {
	return c == bezoar.Transient || c == bezoar.Throttled || c == bezoar.Outage || c == bezoar.Timeout
}

// hash stands for a message whose payload is not recognised. It means nothing
// outside of this process, where the guard keeps it.
func (j *Judge) hash(id string) uint64 { return maphash.String(j.seed, id) }
