package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
	"github.com/bezoar-dev/bezoar/internal/triage"
	"github.com/bezoar-dev/bezoar/policy/blame"
	"github.com/bezoar-dev/bezoar/queue"
)

// openTriage makes the triage service of all dead letters, including those of fleets.
func (a *App) openTriage() error {
	var err error
	if a.triage, err = triage.New(triage.Config{Queue: a.queues, Sources: a.sources(a.now.Load()), Log: a.log}); err != nil {
		return err
	}
	return a.checkOuter(&a.cfg)
}

// sources returns the sources of dead letters of fleets, flows and outboxes.
func (a *App) sources(p *present) []triage.Source {
	var out []triage.Source
	for _, u := range p.units {
		out = append(out, triage.NewGateway(u.name, keptLetters{backend{a}, u.name}))
	}
	return append(append(out, a.flowLetters...), outboxLetters(p)...)
}

// Triage returns the service for dead letters.
func (a *App) Triage() *triage.Service { return a.triage }

// keptLetters gives triage access to the letters of one fleet's requests.
type keptLetters struct {
	b     backend
	fleet string
}

func (k keptLetters) List(ctx context.Context, offset, limit int) ([]bezoar.Letter, error) {
	return k.b.Letters(ctx, ledger.LetterQuery{Fleet: k.fleet, Offset: offset, Limit: limit})
}

func (k keptLetters) Get(ctx context.Context, id string) (bezoar.Letter, error) {
	l, err := k.b.Letter(ctx, id)
	return l, letterError(err)
}

func (k keptLetters) Discard(ctx context.Context, id string) error {
	return letterError(k.b.Discard(ctx, id))
}

func (k keptLetters) Redrive(ctx context.Context, id string) (queue.Outcome, error) {
	r, err := k.b.Redrive(ctx, id)
	if err != nil {
		return queue.Outcome{}, letterError(err)
	}
	o := queue.Outcome{Reason: r.Outcome}
	if r.Reason != "" {
		o.Reason += ": " + r.Reason
	}
	switch r.Outcome {
	case adminapi.Answered:
		o.Class = bezoar.Done
	case adminapi.Crashed:
		o.Class = bezoar.Crash
	case adminapi.TimedOut:
		o.Class = bezoar.Timeout
	case adminapi.Unavailable, adminapi.Refused:
		return queue.Outcome{}, fmt.Errorf("redrive letter %s: %s", id, o.Reason)
	default:
		o.Class = bezoar.Transient
	}
	return o, nil
}

// letterError converts a not-found error to triage's.
func letterError(err error) error {
	if errors.Is(err, ledger.ErrNotFound) {
		return fmt.Errorf("%w: %w", queue.ErrLetterNotFound, err)
	}
	return err
}

func (a *App) alarmStates() []adminapi.Alarm {
	alarms := a.alarms.Load()
	if alarms == nil {
		return nil
	}
	status := alarms.Status()
	out := make([]adminapi.Alarm, len(status))
	for i, s := range status {
		out[i] = adminapi.Alarm{
			Name: s.Name, Kind: string(s.Kind), Queue: s.Queue, To: s.To, Firing: s.Firing, Since: s.Since, Value: s.Value, Limit: s.Limit,
			Looked: s.Looked, ToldAt: s.ToldAt, Told: s.Delivered, Untold: s.Undone, Failure: s.Failure,
		}
	}
	return out
}

// accuse makes a convicted request's body suspect in queues that do the same work.
func (a *App) accuse(e ledger.Event) {
	if e.Kind != blame.Convicted || !a.sameAs(e.Fleet) {
		return
	}
	if s := e.Verdict.Scope; s != bezoar.ScopeVariant && s != bezoar.ScopeWork {
		return // wider verdicts rest on variants, which the queues have been told of
	}
	select {
	case a.convicted <- e.Verdict:
	default:
		a.log.Warn("too many convictions at once: the queues are not told of one", "fleet", e.Fleet, "verdict", e.Verdict.ID)
	}
}

func (a *App) sameAs(fleet string) bool {
	for _, q := range a.now.Load().cfg.Queues {
		if q.SameAs == fleet {
			return true
		}
	}
	return false
}

// accusations tells the queues of convictions, until ctx ends. The body is in the letter, which is stored right after the
// conviction.
func (a *App) accusations(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case v := <-a.convicted:
			if err := a.accuseBody(ctx, v); err != nil && ctx.Err() == nil {
				a.log.Error("the queues could not be told of a conviction", "verdict", v.ID, "err", err)
			}
		}
	}
}

// How often, and how many times, to look for a conviction's letter.
const (
	letterRetry = 100 * time.Millisecond
	letterTries = 50
)

func (a *App) accuseBody(ctx context.Context, v bezoar.Verdict) error {
	q := ledger.LetterQuery{Fleet: v.Fleet, Key: v.Variant, Limit: 1}
	if v.Variant.IsZero() {
		q.Fingerprint = v.Fingerprint
	}
	for range letterTries {
		letters, err := a.stores.Ledger.Letters(ctx, q)
		if err != nil {
			return err
		}
		if len(letters) == 1 {
			l, err := a.stores.Ledger.Letter(ctx, letters[0].ID)
			if err != nil {
				return err
			}
			if l.Request.Truncated || len(l.Request.Body) == 0 {
				return nil // no message can have this body
			}
			_, err = a.queues.Accuse(ctx, v.Fleet, l.Request.Body, v.Cause, "convicted as a request to fleet "+v.Fleet+": "+v.Reason)
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(letterRetry):
		}
	}
	return nil
}
