package flowapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/each"
	"github.com/bezoar-dev/bezoar/internal/faults"
	"github.com/bezoar-dev/bezoar/policy/task"
)

// Store is the part of a [flow.Store] that a [Service] needs.
type Store interface {
	Run(ctx context.Context, id string) (flow.Run, error)
	ListRuns(ctx context.Context, q flow.RunQuery) ([]flow.Run, error)
	Instances(ctx context.Context, run string) ([]flow.Instance, error)
	ListAttempts(ctx context.Context, q flow.AttemptQuery) ([]flow.Attempt, error)
	Order(ctx context.Context, o flow.Order) error
}

// Config configures a Service.
type Config struct {
	Store Store
	// Logs reads the logs of attempts. Nil means that no attempt runs here.
	Logs interface {
		Logs(ctx context.Context, token, offset int64, follow bool) (io.ReadCloser, error)
	}
	Node string // the node whose logs these are; "": of all attempts
	// Flows returns the flows that can be started. Start starts one and returns its run. Nil means that no flow can be
	// started here.
	Flows func() []flow.Definition
	Start func(ctx context.Context, s Start) (run string, err error)
	Rows  flow.RowStore // nil: bad rows cannot be retried here
	// Ordered is called after an order was stored. It may be nil.
	Ordered func(o flow.Order)
	Now     func() time.Time // default time.Now
}

// Validate returns an error that names every fault.
func (c Config) Validate() error {
	var errs faults.List
	errs.If(c.Store == nil, "Store: is missing")
	errs.If((c.Flows == nil) != (c.Start == nil), "Flows, Start: set both or neither")
	return errors.Join(errs...)
}

// Service answers from a store. It is safe for concurrent use.
type Service struct {
	c     Config
	usual usuals
}

func New(c Config) (*Service, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("set up the API of flows: %w", err)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Service{c: c}, nil
}

func missing(format string, args ...any) error {
	return adminapi.NewProblem(http.StatusNotFound, adminapi.CodeNotFound, fmt.Sprintf(format, args...))
}

func conflict(format string, args ...any) error {
	return adminapi.NewProblem(http.StatusConflict, adminapi.CodeConflict, fmt.Sprintf(format, args...))
}

// Flows lists the flows that can be started.
func (s *Service) Flows(context.Context) ([]Flow, error) {
	out := []Flow{}
	if s.c.Flows == nil {
		return out, nil
	}
	for _, d := range s.c.Flows() {
		f := Flow{Name: d.Name, Tasks: len(d.Tasks), Params: d.Params}
		if d.Schedule != nil {
			f.Schedule, f.Zone = d.Schedule.Cron, d.Schedule.Zone
		}
		out = append(out, f)
	}
	return out, nil
}

// Runs lists runs, the newest first.
func (s *Service) Runs(ctx context.Context, q RunQuery) ([]Run, error) {
	all, err := s.c.Store.ListRuns(ctx, flow.RunQuery{Flow: q.Flow, State: q.State, Backfill: q.Backfill, Before: q.Before, Limit: q.Limit})
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	return each.Of(all, runOf), nil
}

// Run returns a run with its tasks.
func (s *Service) Run(ctx context.Context, id string) (Run, error) {
	r, all, err := s.load(ctx, id)
	if err != nil {
		return Run{}, err
	}
	out := runOf(r)
	out.Counts, out.Tasks = s.tasksOf(&r, all)
	if out.Over() {
		return out, nil
	}
	usual, err := s.usual.of(ctx, s.c.Store, &r)
	if err != nil {
		return Run{}, err
	}
	for i := range out.Tasks {
		out.Tasks[i].Usual = adminapi.Duration(usual[out.Tasks[i].Name])
	}
	out.Left = adminapi.Duration(left(out.Tasks, s.c.Now()))
	return out, nil
}

func (s *Service) load(ctx context.Context, id string) (flow.Run, []flow.Instance, error) {
	r, err := s.run(ctx, id)
	if err != nil {
		return r, nil, err
	}
	all, err := s.c.Store.Instances(ctx, id)
	if err != nil {
		return r, nil, fmt.Errorf("list the tasks of run %s: %w", id, err)
	}
	return r, all, nil
}

func (s *Service) run(ctx context.Context, id string) (flow.Run, error) {
	r, err := s.c.Store.Run(ctx, id)
	if errors.Is(err, flow.ErrNotFound) {
		return r, missing("there is no run %.40q", id)
	}
	if err != nil {
		return r, fmt.Errorf("get run %s: %w", id, err)
	}
	return r, nil
}

// Instances lists instances: by task, then index.
func (s *Service) Instances(ctx context.Context, run string, q InstanceQuery) ([]Instance, error) {
	r, all, err := s.load(ctx, run)
	if err != nil {
		return nil, err
	}
	if q.Task != "" && taskOf(&r, q.Task) == nil {
		return nil, missing("run %s has no task %.100q", run, q.Task)
	}
	out := []Instance{}
	for i := range all {
		in := &all[i]
		if q.Task != "" && in.Task != q.Task || q.State != "" && in.State != q.State || isParent(in) {
			continue
		}
		if q.Offset > 0 {
			q.Offset--
			continue
		}
		if out = append(out, instanceOf(in)); len(out) == pageOf(q.Limit) {
			break
		}
	}
	return out, nil
}

// Attempts lists attempts in the order in which they were made.
func (s *Service) Attempts(ctx context.Context, run string, q AttemptQuery) ([]Attempt, error) {
	if _, err := s.run(ctx, run); err != nil {
		return nil, err
	}
	aq := flow.AttemptQuery{Run: run, Task: q.Task, Index: -1, After: q.After, Limit: pageOf(q.Limit)}
	if q.Index != nil {
		aq.Index = *q.Index
	}
	all, err := s.c.Store.ListAttempts(ctx, aq)
	if err != nil {
		return nil, fmt.Errorf("list the attempts of run %s: %w", run, err)
	}
	return each.Of(all, attemptOf), nil
}

func pageOf(limit int) int {
	if limit <= 0 {
		return 100
	}
	return min(limit, MaxPage)
}

func (s *Service) Logs(ctx context.Context, run string, token, offset int64, follow bool) (io.ReadCloser, error) {
	all, err := s.c.Store.ListAttempts(ctx, flow.AttemptQuery{Run: run, Index: -1, After: token - 1, Limit: 1})
	if err != nil {
		return nil, fmt.Errorf("get attempt %d: %w", token, err)
	}
	if len(all) == 0 || all[0].Token != token {
		return nil, missing("run %.40q has no attempt %d", run, token)
	}
	if node := all[0].Node; s.c.Logs == nil || s.c.Node != "" && node != "" && node != s.c.Node {
		return nil, missing("the log of attempt %d is on node %q: ask there", token, node)
	}
	r, err := s.c.Logs.Logs(ctx, token, offset, follow)
	switch {
	case errors.Is(err, flow.ErrNotFound):
		return io.NopCloser(strings.NewReader("")), nil // it has not begun
	case err != nil:
		return nil, fmt.Errorf("read the log of attempt %d: %w", token, err)
	}
	return r, nil
}

func (s *Service) Start(ctx context.Context, st Start) (Run, error) {
	if s.c.Start == nil {
		return Run{}, missing("no flow can be started here")
	}
	all := s.c.Flows()
	i := slices.IndexFunc(all, func(d flow.Definition) bool { return d.Name == st.Flow })
	if i < 0 {
		return Run{}, missing("there is no flow %.100q", st.Flow)
	}
	if _, err := all[i].Values(st.Params); err != nil {
		return Run{}, adminapi.NewProblem(http.StatusBadRequest, adminapi.CodeInvalid, err.Error())
	}
	id, err := s.c.Start(ctx, st)
	if err != nil {
		return Run{}, err // it names the flow
	}
	return s.Run(ctx, id)
}

func (s *Service) Order(ctx context.Context, run string, o Order) (Ordered, error) {
	r, all, err := s.load(ctx, run)
	if err != nil {
		return Ordered{}, err
	}
	if err := check(&r, o); err != nil {
		return Ordered{}, err
	}
	if o.Rows {
		return s.rows(ctx, run, o)
	}
	n := 0
	for i := range all {
		if applies(&r, &all[i], o) {
			n++
		}
	}
	if n == 0 {
		return Ordered{}, conflict("%s", nothing(&r, all, o))
	}
	fo := flow.Order{
		Run: run, Verb: o.Verb, Task: o.Task, Index: -1, Group: o.Group, Set: o.Set, Who: o.Who, Reason: o.Reason, At: s.c.Now(),
	}
	if o.Index != nil {
		fo.Index = *o.Index
	}
	err = s.c.Store.Order(ctx, fo)
	if errors.Is(err, flow.ErrOver) {
		return Ordered{}, conflict("%s", nothing(&r, all, o))
	}
	if err != nil {
		return Ordered{}, fmt.Errorf("order %s of run %s: %w", o.Verb, run, err)
	}
	if s.c.Ordered != nil {
		s.c.Ordered(fo)
	}
	return Ordered{Run: run, Instances: n}, nil
}

func names(r *flow.Run) string {
	const some = 10
	var out []string
	for i := range r.Definition.Tasks {
		if i == some {
			out = append(out, "…")
			break
		}
		out = append(out, r.Definition.Tasks[i].Name)
	}
	return strings.Join(out, ", ")
}

// applies reports whether an order applies to an instance in its present state.
func applies(r *flow.Run, in *flow.Instance, o Order) bool {
	if o.Task != "" && in.Task != o.Task || o.Index != nil && in.Index != *o.Index || o.Group != "" && in.Group != o.Group {
		return false
	}
	t := taskOf(r, in.Task)
	if t == nil || isParent(in) && in.State.Over() {
		return false // a parent follows its instances
	}
	switch o.Verb {
	case flow.VerbRetry:
		return retries(t, in, o)
	case flow.VerbSkip:
		return !in.State.Over() && (o.Task != "" || in.State == task.DeadLetter)
	default:
		return !in.State.Over()
	}
}

// retries reports whether an instance can be retried, by the engine's rules.
func retries(t *flow.Task, in *flow.Instance, o Order) bool {
	switch in.State {
	case task.DeadLetter, task.Retrying:
		return true
	case task.Failed, task.Cancelled:
		return o.Task != "" || !t.Permit
	case task.Held: // held because of its siblings
		return t.Each != nil && !isParent(in) && o.Group == ""
	default:
		return false
	}
}

// nothing explains why an order applies to no instance.
func nothing(r *flow.Run, all []flow.Instance, o Order) string {
	if o.Task == "" {
		return fmt.Sprintf("nothing in run %s can be %s: it is %s", r.ID, done(o.Verb), r.State)
	}
	for i := range all {
		if in := &all[i]; in.Task == o.Task && (o.Index == nil || in.Index == *o.Index) && !isParent(in) {
			return fmt.Sprintf("task %s of run %s cannot be %s: it is %s", nameOf(in.Task, in.Index, taskOf(r, in.Task)), r.ID, done(o.Verb), in.State)
		}
	}
	return fmt.Sprintf("task %s of run %s has no such instance", o.Task, r.ID)
}

func done(v flow.Verb) string {
	switch v {
	case flow.VerbRetry:
		return "retried"
	case flow.VerbSkip:
		return "skipped"
	default:
		return "cancelled"
	}
}

func nameOf(name string, index int, t *flow.Task) string {
	if t != nil && t.Each != nil && index >= 0 {
		return fmt.Sprintf("%s[%d]", name, index)
	}
	return name
}
