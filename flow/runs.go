package flow

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar/policy/task"
)

// View is a run with its instances and attempts.
type View struct {
	Run       Run
	Instances []Instance
	Attempts  []Attempt
}

// Show reads a run with its instances and attempts.
func Show(ctx context.Context, s Store, id string) (v View, err error) {
	if v.Run, err = s.Run(ctx, id); err != nil {
		return View{}, err
	}
	if v.Instances, err = s.Instances(ctx, id); err != nil {
		return View{}, err
	}
	v.Attempts, err = s.ListAttempts(ctx, AttemptQuery{Run: id, Index: -1})
	return v, err
}

// Send stores an order for a run. The engine that plans the run carries it out.
func Send(ctx context.Context, s Store, o Order) error {
	if o.Task != "" {
		r, err := s.Run(ctx, o.Run)
		if err != nil {
			return fmt.Errorf("%s run %.80q: %w", o.Verb, o.Run, err)
		}
		if !slices.ContainsFunc(r.Definition.Tasks, func(t Task) bool { return t.Name == o.Task }) {
			return fmt.Errorf("%s task %.80q of run %s: %w", o.Verb, o.Task, o.Run, ErrNotFound)
		}
	}
	return s.Order(ctx, o)
}

// Brief reads a run without its definition, which may be long.
func Brief(ctx context.Context, s Store, id string) (Run, error) {
	runs, err := s.ListRuns(ctx, RunQuery{Before: id + "~", Limit: 1}) // the newest one that is not newer
	if err != nil {
		return Run{}, err
	}
	if len(runs) == 0 || runs[0].ID != id {
		return Run{}, fmt.Errorf("run %.80q: %w", id, ErrNotFound)
	}
	return runs[0], nil
}

// Start creates a run in a store. An engine over it plans the run.
func Start(ctx context.Context, s Store, r StartRequest) (Run, error) { return startIn(ctx, s, r) }

func startIn(ctx context.Context, s interface {
	CreateRun(ctx context.Context, r Run, all []Instance) error
}, r StartRequest,
) (Run, error) {
	run, all, err := prepare(r, time.Now())
	if err != nil {
		return Run{}, fmt.Errorf("start flow %.80q: %w", r.Definition.Name, err)
	}
	if err := s.CreateRun(ctx, run, all); err != nil {
		return Run{}, fmt.Errorf("start flow %.80q: %w", r.Definition.Name, err)
	}
	return run, nil
}

// prepare creates a run with its first instances: one for each task. The items of a task with Each are found once its needs
// are over.
func prepare(r StartRequest, now time.Time) (Run, []Instance, error) {
	d := r.Definition.WithDefaults()
	params, errParams := d.Values(r.Params)
	if err := errors.Join(d.Validate(), errParams); err != nil {
		return Run{}, nil, err
	}
	now = now.UTC().Truncate(time.Microsecond)
	run := Run{
		ID: newID(now), Flow: d.Name, Definition: d, Params: params, State: RunRunning,
		Due: r.Due.UTC().Truncate(time.Microsecond), Created: now, Key: r.Key, Backfill: r.Backfill, Version: 1,
	}
	if r.Due.IsZero() {
		run.Due = now
	}
	if d.Deadline > 0 {
		run.Deadline = run.Due.Add(d.Deadline)
		if r.Backfill != "" { // its due times are long ago
			run.Deadline = now.Add(d.Deadline)
		}
	}
	all := make([]Instance, len(d.Tasks))
	for i, t := range d.Tasks {
		all[i] = Instance{Run: run.ID, Task: t.Name, State: task.Pending, Since: now}
		if t.Each != nil {
			all[i].Index = -1
		}
	}
	return run, all, nil
}

// newID returns a run's ID: 56 bits of microseconds, then 72 random bits.
func newID(now time.Time) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(now.UnixMicro())<<8)
	rand.Read(b[7:]) // never fails
	enc := base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)
	return enc.EncodeToString(b[:])
}

// Values returns the parameters of a run: the given ones, and the defaults of all others.
func (d Definition) Values(given map[string]string) (map[string]string, error) {
	values, errs := make(map[string]string, len(d.Params)), []error(nil)
	for _, p := range d.Params {
		v, ok := given[p.Name]
		switch {
		case !ok && p.Required:
			errs = append(errs, fmt.Errorf("parameter %s is missing", p.Name))
		case !ok:
			v = p.Default
		case len(v) > MaxValue:
			errs = append(errs, fmt.Errorf("parameter %s has %d bytes, more than %d", p.Name, len(v), MaxValue))
		}
		values[p.Name] = v
	}
	for name := range given {
		if !slices.ContainsFunc(d.Params, func(p Param) bool { return p.Name == name }) {
			errs = append(errs, fmt.Errorf("the flow has no parameter %.80q", name))
		}
	}
	return values, errors.Join(errs...)
}
