package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
	"github.com/bezoar-dev/bezoar/internal/gateway"
	"github.com/bezoar-dev/bezoar/internal/process/supervise"
	"github.com/bezoar-dev/bezoar/internal/sorted"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

// backend gives the admin API access to an App.
type backend struct{ a *App }

// unit finds a fleet by name. An empty name stands for the only fleet.
func (b backend) unit(name string) (*unit, error) {
	p := b.a.now.Load()
	if name == "" && len(p.units) == 1 {
		return p.units[0], nil
	}
	if u := p.byName[name]; u != nil {
		return u, nil
	}
	var names []string
	for _, u := range p.units {
		names = append(names, u.name)
	}
	if name == "" {
		return nil, adminapi.NewProblem(http.StatusBadRequest, adminapi.CodeInvalid, fmt.Sprintf("there is more than one fleet: name one of %v", names))
	}
	return nil, adminapi.NewProblem(http.StatusNotFound, adminapi.CodeNotFound, fmt.Sprintf("there is no fleet %.60q", name))
}

func (b backend) Verdicts(_ context.Context, name string) ([]bezoar.Verdict, error) {
	var out []bezoar.Verdict
	for _, u := range b.a.now.Load().units {
		if name == "" || name == u.name {
			out = append(out, u.ledger.Verdicts()...)
		}
	}
	sorted.Func(out, func(x, y bezoar.Verdict) int { return x.Since.Compare(y.Since) })
	return out, nil
}

func (b backend) Verdict(ctx context.Context, id string) (bezoar.Verdict, error) {
	for _, u := range b.a.now.Load().units {
		v, err := u.ledger.Verdict(id)
		if err == nil {
			return b.withEvidence(ctx, v), nil
		}
	}
	return bezoar.Verdict{}, fmt.Errorf("verdict %.40q: %w", id, ledger.ErrNotFound)
}

// withEvidence adds evidence that the store still has and the ledger has dropped.
func (b backend) withEvidence(ctx context.Context, v bezoar.Verdict) bezoar.Verdict {
	if len(v.Evidence) > 0 || v.Manual {
		return v
	}
	stored, err := b.a.stores.Ledger.Verdicts(ctx, v.Fleet)
	if err != nil {
		return v
	}
	for _, s := range stored {
		if s.ID == v.ID {
			v.Evidence, v.Sample, v.Route, v.Reason = s.Evidence, cmp.Or(v.Sample, s.Sample), cmp.Or(v.Route, s.Route), cmp.Or(v.Reason, s.Reason)
			deaths := make([]string, len(s.Evidence))
			for i := range s.Evidence {
				deaths[i] = blame.Explain(&s.Evidence[i])
			}
			v.Why = append(deaths, v.Why...)
		}
	}
	return v
}

func (b backend) Quarantine(ctx context.Context, add adminapi.Add) (bezoar.Verdict, error) {
	u, err := b.unit(add.Fleet)
	if err != nil {
		return bezoar.Verdict{}, err
	}
	o := ledger.Order{Reason: add.Reason, For: time.Duration(add.For), Work: blame.Work{Fingerprint: add.Fingerprint, Variant: add.Variant, Shape: add.Shape}}
	if add.Request != nil {
		id, err := b.a.identify(add.Request)
		if err != nil {
			return bezoar.Verdict{}, err
		}
		if add.Fleet != "" && id.route.fleet != add.Fleet {
			return bezoar.Verdict{}, adminapi.NewProblem(http.StatusBadRequest, adminapi.CodeInvalid,
				fmt.Sprintf("the request belongs to fleet %s by route %s, not to %.60q", id.route.fleet, id.route.name, add.Fleet))
		}
		if u, err = b.unit(id.route.fleet); err != nil {
			return bezoar.Verdict{}, err
		}
		o.Work = blame.Work{Fingerprint: id.work, Shape: id.shape, Rule: id.route.rule}
		o.Sample = add.Request.Method + " " + add.Request.Target
	}
	if o.For == 0 {
		o.For = b.a.defaultTerm(u.name)
	}
	o.Reason = cmp.Or(o.Reason, "ordered by an operator")
	return u.ledger.Quarantine(ctx, o)
}

func (b backend) Release(ctx context.Context, id string) error {
	for _, u := range b.a.now.Load().units {
		if _, err := u.ledger.Release(ctx, id); err == nil || !errors.Is(err, ledger.ErrNotFound) {
			return err
		}
	}
	return fmt.Errorf("verdict %.40q: %w", id, ledger.ErrNotFound)
}

func (b backend) Letters(ctx context.Context, q ledger.LetterQuery) ([]bezoar.Letter, error) {
	return b.a.stores.Ledger.Letters(ctx, q)
}

func (b backend) Letter(ctx context.Context, id string) (bezoar.Letter, error) {
	return b.a.stores.Ledger.Letter(ctx, id)
}

func (b backend) Discard(ctx context.Context, id string) error {
	l, err := b.a.stores.Ledger.Letter(ctx, id)
	if err != nil {
		return err
	}
	if err := b.a.stores.Ledger.DeleteLetter(ctx, id); err != nil {
		return err
	}
	if u := b.a.now.Load().byName[l.Fleet]; u != nil {
		u.ledger.Forget(l.Key())
	}
	return nil
}

func (b backend) Redrive(ctx context.Context, id string) (adminapi.Redriven, error) {
	l, err := b.a.stores.Ledger.Letter(ctx, id)
	if err != nil {
		return adminapi.Redriven{}, err
	}
	if b.a.gateway == nil {
		return adminapi.Redriven{}, adminapi.NewProblem(http.StatusServiceUnavailable, adminapi.CodeUnavailable, "no requests are served here: there are no routes")
	}
	res, err := b.a.gateway.Redrive(ctx, l)
	switch {
	case errors.Is(err, gateway.ErrTruncated):
		return adminapi.Redriven{}, adminapi.NewProblem(http.StatusUnprocessableEntity, adminapi.CodeNotReplayable,
			"only the head of the body was kept, so the request cannot be sent again; raise the route's buffer to keep more")
	case err != nil:
		return adminapi.Redriven{}, err
	}
	out := adminapi.Redriven{ID: id, Outcome: outcome(res.Answer), Status: res.Status, Reason: res.Answer.Reason}
	if v := res.Answer.Verdict; v != nil {
		out.Verdict = v.ID
	}
	if len(res.Missing) > 0 {
		out.Missing = res.Missing
		out.Reason = joined(out.Reason, "it was sent without "+adminapi.WithoutText(res.Missing)+": it may not have been the same request")
	}
	if out.Outcome == adminapi.Answered {
		err = b.Discard(ctx, id)
		if errors.Is(err, ledger.ErrNotFound) {
			err = nil // somebody has discarded it meanwhile
		}
	}
	return out, err
}

func joined(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

// outcome describes the result of a redrive in the API's terms.
func outcome(a dispatch.Answer) string {
	switch a.Kind {
	case dispatch.Answered:
		return adminapi.Answered
	case dispatch.Refused:
		if a.Attempts > 0 {
			return adminapi.Crashed
		}
		return adminapi.Refused
	case dispatch.Unavailable:
		return adminapi.Unavailable
	case dispatch.TimedOut:
		return adminapi.TimedOut
	case dispatch.Failed, dispatch.Aborted, dispatch.Cut:
	}
	if a.Crashed {
		return adminapi.Crashed
	}
	return adminapi.Failed
}

func (b backend) Fleets() []adminapi.Fleet {
	out := make([]adminapi.Fleet, 0, len(b.a.now.Load().units))
	for _, u := range b.a.now.Load().units {
		f := u.snapshot()
		b.a.standing(u, &f)
		out = append(out, f)
	}
	return out
}

// snapshot returns the fleet as the API shows it.
func (u *unit) snapshot() adminapi.Fleet {
	st := u.doer.Stats()
	f := adminapi.Fleet{
		Name: u.name, Managed: u.super != nil,
		Lane: adminapi.Lane{Waiting: st.Waiting},
		Counters: map[string]int64{
			"answered": int64(st.Answered), "refused": int64(st.Refused), "unavailable": int64(st.Unavailable),
			"failed": int64(st.Failed), "timed_out": int64(st.TimedOut), "aborted": int64(st.Aborted), "cut": int64(st.Cut),
			"attempts": int64(st.Attempts), "lane_runs": int64(st.LaneRuns), "retries": int64(st.Retries),
			"would_refuse": int64(st.WouldRefuse), "would_isolate": int64(st.WouldIsolate),
			"held_back": int64(st.HeldBack),
		},
	}
	if r, ok := u.ledger.Recovery(); ok {
		f.Recovery = &adminapi.Recovery{Runs: r.Runs, Waiting: st.Holding}
	}
	processes := u.processes()
	ready, deaths := 0, 0
	for _, s := range u.fleet.Snapshot() {
		w := adminapi.Worker{
			Name: s.Name, Addr: s.Addr, PID: processes[s.Name].PID, State: stateName(s, processes[s.Name].State), Lane: s.State == fleet.Lane,
			Epoch: s.Epoch, Since: s.Since, InFlight: s.InFlight, Served: s.Served, Restarts: int64(max(s.Lives-1, 0)),
			Held: held(&s), Share: s.Share, Results: s.Results, Failed: s.Failed, Latency: adminapi.Duration(s.Latency),
		}
		if s.Weight != 1 {
			w.Weight = &s.Weight
		}
		if e := s.LastEnd; e != nil {
			w.LastEnd = &adminapi.End{At: e.At, Planned: e.Planned, Class: e.Class, Detail: e.Detail, ExitCode: e.ExitCode, Signal: e.Signal, Stderr: e.Stderr}
		}
		if w.Lane {
			f.Lane.Worker = s.Name
		}
		if w.State == "ready" {
			ready++
		}
		deaths += s.Deaths
		f.Workers = append(f.Workers, w)
	}
	f.Counters["deaths"] = int64(deaths)
	f.Lane.Open = ready >= 2 || len(f.Workers) == 1 && ready == 1
	switch {
	case ready == 0:
		f.State = "down"
	case ready < len(f.Workers):
		f.State = "degraded"
	default:
		f.State = "ok"
	}
	return f
}

// stateName returns the fleet's state. For a worker that is down it returns what its process does.
func stateName(s fleet.Status, process supervise.State) string {
	switch {
	case s.State == fleet.Serving && !s.HeldOut && s.Weight > 0, s.State == fleet.Lane:
		return "ready"
	case s.State == fleet.Draining, s.State == fleet.Serving: // held out, or without weight
		return "draining"
	case process == supervise.Starting:
		return "starting"
	}
	return "down"
}

// processes returns the states of the workers' processes, and nothing for workers that Bezoar does not start.
func (u *unit) processes() map[string]supervise.WorkerStatus {
	if u.super == nil {
		return nil
	}
	out := map[string]supervise.WorkerStatus{}
	for _, s := range u.super.Status() {
		out[s.Name] = s
	}
	return out
}

func (b backend) Restart(ctx context.Context, name string) (adminapi.Restarting, error) {
	u, err := b.unit(name)
	if err != nil {
		return adminapi.Restarting{}, err
	}
	if u.super == nil {
		return adminapi.Restarting{}, adminapi.NewProblem(http.StatusConflict, adminapi.CodeConflict,
			fmt.Sprintf("fleet %s runs elsewhere: restart its workers where they were started", u.name))
	}
	number, err := b.a.restart(u)
	if err != nil {
		return adminapi.Restarting{}, err
	}
	return adminapi.Restarting{Fleet: u.name, Workers: u.size(), Number: number}, nil
}

// Ready returns nil when requests can be served.
func (b backend) Ready() error {
	b.a.mu.Lock()
	err := b.a.ready
	b.a.mu.Unlock()
	if err != nil {
		return err
	}
	for _, u := range b.a.now.Load().units {
		if u.fleet.Serving() == 0 {
			return fmt.Errorf("fleet %s has no worker that serves", u.name)
		}
	}
	return nil
}
