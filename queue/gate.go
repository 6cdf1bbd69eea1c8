package queue

import (
	"context"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/judge"
)

// trialMargin is how much longer than its lease a trial may take. leastTrial is the least time for any trial.
const (
	trialMargin = 10 * time.Second
	leastTrial  = time.Minute
	maxTrial    = 24 * time.Hour
)

// knownMarks is how long this process uses a value that it read, and so how late it learns of another process's change.
const knownMarks = time.Second

// trial is a delivery that shows whether a queue, or a group, works again.
type trial struct {
	*judge.Trial
	queue int64 // id
	began time.Time
	until time.Time // when to look what has become of it
}

// trials are the deliveries on trial whose end is not known yet.
type trials struct {
	mu  sync.Mutex // guards all
	all map[Receipt]*trial
}

// take returns the trial of a delivery, nil if it is none. The caller must tell the judge how it ended.
func (t *trials) take(r Receipt) *judge.Trial {
	t.mu.Lock()
	defer t.mu.Unlock()
	found := t.all[r]
	if found == nil {
		return nil
	}
	delete(t.all, r)
	return found.Trial
}

// newJudge returns the engine's judge, which keeps its state in the store.
func (e *Engine) newJudge() *judge.Judge {
	return judge.New(judge.Config{
		Store: e.store, Shared: e.store.Shared(), Trust: knownMarks, Max: maxConditions,
		Outage: e.config.Outage, Breaker: e.config.Breaker, Log: e.config.Log,
		Also: e.readMarks, Changed: e.hub.wakeAll, Complain: e.complain,
	})
}

// Judge returns the judge of the downstreams. Another engine of this process that uses it
// shares its knowledge.
func (e *Engine) Judge() *judge.Judge { return e.judge }

// maxConditions bounds the known queues, and the known groups.
const maxConditions = 10_000

func (q *Queue) source() judge.Source {
	return judge.Source{Queue: q.Name, Group: q.Settings.Downstream, Budget: q.Settings.Retry.Budget}
}

// refresh reads the state of the judge as other processes changed it.
func (e *Engine) refresh(ctx context.Context) { e.judge.Refresh(ctx, time.Now()) }

// readMarks reads the marks that the processes of a queue share.
func (e *Engine) readMarks(ctx context.Context) error {
	blamed, err := e.store.Marks(ctx, blamedMarks)
	if err != nil {
		return err
	}
	e.blameToo(blamed)
	paused, err := e.store.Marks(ctx, pauseMarks)
	if err != nil {
		return err
	}
	e.pauseToo(paused)
	return nil
}

// pass is permission to receive: one message on trial, or any number without a trial.
type pass struct {
	trial *trial
	wait  time.Duration // when to ask again, if it is refused
	ok    bool
}

// admit asks the judge whether messages may be received: whether the queue is paused, or the breaker of its group open. If
// the queue is tried again, one message may be received.
func (e *Engine) admit(ctx context.Context, q *Queue, lease time.Duration) pass {
	e.refresh(ctx)
	now := time.Now()
	if left, held := e.pauses.on(q.Name, now); held {
		return pass{wait: left}
	}
	limit := min(max(lease+trialMargin, leastTrial), maxTrial)
	p := e.judge.Gate(ctx, now, q.source(), limit)
	switch {
	case !p.Open:
		return pass{wait: p.Wait}
	case p.Trial == nil:
		return pass{ok: true}
	}
	return pass{trial: &trial{Trial: p.Trial, queue: q.ID, began: now, until: now.Add(lease + trialMargin)}, ok: true}
}

// begin records the trial of a message that was received. If there was no message, it gives the permission back.
func (e *Engine) begin(ctx context.Context, t *trial, messages []Message) {
	if t == nil {
		return
	}
	if len(messages) == 0 {
		e.judge.Waste(ctx, time.Now(), t.Trial)
		return
	}
	t.Alone = messages[0].Alone || messages[0].Lineage != nil
	e.trials.mu.Lock()
	defer e.trials.mu.Unlock()
	e.trials.all[messages[0].Receipt] = t
}

// first counts first deliveries, which retry budgets are a share of.
func (e *Engine) first(q *Queue, messages []Message) {
	n := 0
	for i := range messages {
		if messages[i].Receives <= 1 {
			n++
		}
	}
	e.judge.First(time.Now(), q.source(), n)
}

// worked records deliveries that ended in a deletion.
func (e *Engine) worked(ctx context.Context, q *Queue, receipts []Receipt, results []error) {
	for i, r := range receipts {
		if results[i] != nil {
			continue
		}
		payload, _ := e.holdings.settle(r)
		if !e.judge.Quiet() {
			e.judge.Worked(ctx, time.Now(), q.source(), payload, uint64(r.Sequence), e.trials.take(r))
		}
	}
}

// gaveBack forgets deliveries that ended without an outcome.
func (e *Engine) gaveBack(ctx context.Context, changes []Change, results []error) {
	for i := range changes {
		c := &changes[i]
		if results[i] != nil {
			continue
		}
		if !c.Release && c.For > 0 {
			e.holdings.extend(c.Receipt, time.Now().Add(c.For))
			continue
		}
		e.holdings.settle(c.Receipt)
		if !e.judge.Quiet() {
			e.returned(ctx, e.trials.take(c.Receipt), c.Outcome)
		}
	}
}

// returned tells the judge how a trial ended. outcome is nil if it is not known.
func (e *Engine) returned(ctx context.Context, t *judge.Trial, outcome *Outcome) {
	if outcome == nil {
		outcome = &Outcome{Class: bezoar.Interrupted}
	}
	e.judge.Returned(ctx, time.Now(), t, outcome.Class, outcome.Failure)
}

// follow checks trials whose time is over, or that another process may have ended: if the message is gone, it worked.
func (e *Engine) follow(ctx context.Context) {
	if e.judge.Quiet() {
		return
	}
	now := time.Now()
	open := make(map[Receipt]trial)
	e.trials.mu.Lock()
	for r, t := range e.trials.all {
		if e.store.Shared() || !t.until.After(now) {
			open[r] = *t
		}
	}
	e.trials.mu.Unlock()
	for r, t := range open {
		found, err := e.store.Peek(ctx, t.queue, r.Sequence-1, 1)
		if err != nil && CodeOf(err) != ErrQueueNotFound {
			e.complain(ctx, "look for the message that tries a queue", err)
			continue
		}
		gone := len(found) == 0 || found[0].Sequence != r.Sequence
		if !gone && found[0].InFlight && t.until.Add(MaxVisibility).After(now) {
			continue
		}
		var outcome *Outcome
		switch {
		case gone && err == nil:
			outcome = &Outcome{Class: bezoar.Done}
		case gone: // with its queue
		default:
			outcome = &Outcome{Class: bezoar.Timeout, Reason: "its lease ended"}
			if n := len(found[0].Attempts); n > 0 && found[0].Attempts[n-1].Ended.After(t.began) {
				outcome = &found[0].Attempts[n-1].Outcome
			}
		}
		e.returned(ctx, e.trials.take(r), outcome)
	}
}
