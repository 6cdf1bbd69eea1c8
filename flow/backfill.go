package flow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/internal/faults"
	"github.com/bezoar-dev/bezoar/internal/sorted"
	"github.com/bezoar-dev/bezoar/policy/task"
)

// maxBackfill is the most due times of one backfill.
const maxBackfill = 100_000

// Backfill runs a flow for due times of the past. The first run goes alone until one run
// has succeeded. Failed runs do not stop the others, unless Share of them fail with one
// fingerprint in one build: then no more runs start.
type Backfill struct {
	ID         string // default: derived from flow, range and parameters, so that the same backfill continues where it stopped
	Definition Definition
	Params     map[string]string
	From, To   time.Time     // due times from From to before To, by Definition.Schedule
	Every      time.Duration // replaces the schedule
	Parallel   int           // runs at once; default 4
	Share      int           // runs that fail with one fingerprint before the backfill halts; default 3
	NoCanary   bool          // start all runs at once; by default the first run goes alone
}

// WithDefaults returns b with every zero field set to its default.
func (b Backfill) WithDefaults() Backfill {
	b.Definition = b.Definition.WithDefaults()
	b.Parallel = cmp.Or(b.Parallel, 4)
	b.Share = cmp.Or(b.Share, 3)
	if b.ID == "" {
		parts := []string{b.Definition.Name, b.From.UTC().Format(time.RFC3339), b.To.UTC().Format(time.RFC3339), b.Every.String()}
		for _, p := range b.Definition.Params {
			parts = append(parts, p.Name, b.Params[p.Name])
		}
		b.ID = b.Definition.Name + "-" + hashed(parts...)
	}
	return b
}

// Validate returns an error that names every invalid field.
func (b Backfill) Validate() error {
	b = b.WithDefaults()
	_, errParams := b.Definition.Values(b.Params)
	errs := faults.List{b.Definition.Validate(), errParams}
	errs.If(!b.From.Before(b.To), "From: %v is not before To (%v)", b.From, b.To)
	errs.If(b.Every < 0 || b.Every == 0 && b.Definition.Schedule == nil, "Every: the flow has no schedule: set the time between due times")
	errs.If(b.Parallel < 0, "Parallel: %d is negative", b.Parallel)
	errs.If(b.Share < 0, "Share: %d is negative", b.Share)
	return errors.Join(errs...)
}

func (b Backfill) dues() ([]time.Time, error) {
	c := calendar{every: b.Every}
	first := b.From.Add(-1)
	if b.Every > 0 {
		first = b.From.Add(-b.Every)
	} else {
		var err error
		if c, err = newCalendar(*b.Definition.Schedule); err != nil {
			return nil, err
		}
	}
	all := c.between(first, b.To.Add(-1), maxBackfill+1)
	if len(all) > maxBackfill {
		return nil, fmt.Errorf("the range has more than %d due times", maxBackfill)
	}
	return all, nil
}

// BackfillPlan shows what a backfill would do and how long it would take.
type BackfillPlan struct {
	ID       string        `json:"id"`
	Runs     int           `json:"runs"`     // due times
	There    int           `json:"there"`    // that have a run already
	Tasks    int           `json:"tasks"`    // of one run, before Each
	Run      time.Duration `json:"run"`      // p95 along the longest path of earlier runs; 0: unknown
	Time     time.Duration `json:"time"`     // Run × runs ÷ parallel; 0: unknown
	Retries  time.Duration `json:"retries"`  // the longest time that all waits before retries along one path can take
	Deadline time.Duration `json:"deadline"` // of one run; 0: none
	Fits     bool          `json:"fits"`     // Run + Retries is within Deadline
	First    time.Time     `json:"first"`
	Last     time.Time     `json:"last"`
	Text     string        `json:"text"` // the arithmetic for people
}

// BackfillStatus is the progress of a backfill.
type BackfillStatus struct {
	ID      string `json:"id"`
	Runs    int    `json:"runs"`
	Done    int    `json:"done"`
	Failed  int    `json:"failed"` // FAILED, CANCELLED or HELD
	Running int    `json:"running"`
	Halted  bool   `json:"halted,omitempty"`
	Why     string `json:"why,omitempty"`
}

// PlanBackfill computes what a backfill would do. It starts nothing.
func (e *Engine) PlanBackfill(ctx context.Context, b Backfill) (BackfillPlan, error) {
	b = b.WithDefaults()
	if err := b.Validate(); err != nil {
		return BackfillPlan{}, fmt.Errorf("backfill: %w", err)
	}
	dues, err := b.dues()
	if err != nil {
		return BackfillPlan{}, fmt.Errorf("backfill: %w", err)
	}
	there, err := e.backfilled(ctx, b.ID)
	if err != nil {
		return BackfillPlan{}, err
	}
	known := newStats()
	if err := learn(ctx, e.cfg.Store, known, b.Definition.Name); err != nil {
		return BackfillPlan{}, fmt.Errorf("backfill: %w", err)
	}
	d := &b.Definition
	p := BackfillPlan{ID: b.ID, Runs: len(dues), Tasks: len(d.Tasks), Deadline: d.Deadline}
	for _, due := range dues {
		if _, is := there[due.UnixMicro()]; is {
			p.There++
		}
	}
	if len(dues) > 0 {
		p.First, p.Last = dues[0], dues[len(dues)-1]
	}
	p.Run, p.Retries = longest(d, known)
	todo := p.Runs - p.There
	p.Time = p.Run * time.Duration((todo+b.Parallel-1)/b.Parallel)
	p.Fits = d.Deadline == 0 || p.Run+p.Retries <= d.Deadline
	p.Text = p.text(todo, b.Parallel)
	return p, nil
}

func (p BackfillPlan) text(todo, parallel int) string {
	text := fmt.Sprintf("%d runs, %d exist already, %d will run, %d at once; %d tasks each", p.Runs, p.There, todo, parallel, p.Tasks)
	if p.Run > 0 {
		text += fmt.Sprintf("\np95 of the longest path %v × %d ÷ %d = %v", p.Run.Round(time.Millisecond), todo, parallel, p.Time.Round(time.Millisecond))
	} else {
		text += "\nno run has succeeded yet, so the duration of one is unknown"
	}
	text += fmt.Sprintf("\nretries along one path wait at most %v", p.Retries)
	if p.Deadline > 0 {
		verdict := "fits"
		if !p.Fits {
			verdict = "does not fit"
		}
		text += fmt.Sprintf("\n%v + %v = %v %s the deadline of %v", p.Run.Round(time.Millisecond), p.Retries, (p.Run + p.Retries).Round(time.Millisecond), verdict, p.Deadline)
	}
	return text
}

// longest returns the p95 of all tasks, and all waits of retries, along the path that takes longest.
func longest(d *Definition, known *stats) (run, retries time.Duration) {
	byName := make(map[string]int, len(d.Tasks))
	for i := range d.Tasks {
		byName[d.Tasks[i].Name] = i
	}
	needs := make([][]int, len(d.Tasks))
	for i := range d.Tasks {
		for _, name := range d.Tasks[i].Needs {
			needs[i] = append(needs[i], byName[name])
		}
	}
	runs, waits := make([]time.Duration, len(d.Tasks)), make([]time.Duration, len(d.Tasks))
	for _, i := range inOrder(needs) {
		for _, need := range needs[i] {
			runs[i], waits[i] = max(runs[i], runs[need]), max(waits[i], waits[need])
		}
		t := &d.Tasks[i]
		p95, _, _ := known.of(d.Name, t.Name)
		runs[i] += p95
		waits[i] += t.Retry.Backoff.RetryBound(t.Retry.Attempts)
		run, retries = max(run, runs[i]), max(retries, waits[i])
	}
	return run, retries
}

// backfilled lists the runs of a backfill by their due times in microseconds.
func (e *Engine) backfilled(ctx context.Context, id string) (map[int64]Run, error) {
	out := map[int64]Run{}
	for before := ""; ; {
		page, err := e.cfg.Store.ListRuns(ctx, RunQuery{Backfill: id, Before: before, Limit: 1000})
		if err != nil {
			return nil, fmt.Errorf("list the runs of backfill %s: %w", id, err)
		}
		for _, r := range page {
			out[r.Due.UnixMicro()] = r
		}
		if len(page) < 1000 {
			return out, nil
		}
		before = page[len(page)-1].ID
	}
}

// Backfill starts the runs of a backfill and waits for them. It returns when all are over
// or wait for a person, when the backfill has halted and nothing runs any more, or when
// ctx is over. It calls progress, if that is not nil, after each change. A second call
// with the same backfill continues where the first one stopped.
func (e *Engine) Backfill(ctx context.Context, b Backfill, progress func(BackfillStatus)) (BackfillStatus, error) {
	b = b.WithDefaults()
	if err := b.Validate(); err != nil {
		return BackfillStatus{}, fmt.Errorf("backfill: %w", err)
	}
	dues, err := b.dues()
	if err != nil {
		return BackfillStatus{}, fmt.Errorf("backfill: %w", err)
	}
	f := &filling{Engine: e, b: b, dues: dues, causes: map[string]string{}}
	tick := time.NewTicker(e.cfg.Poll)
	defer tick.Stop()
	for last := (BackfillStatus{}); ; {
		is, err := f.step(ctx)
		if err != nil {
			return is, err
		}
		if is != last && progress != nil {
			progress(is)
		}
		if is.Halted && !last.Halted && e.cfg.Pager != nil {
			in := Incident{Kind: KindBackfill, Flow: b.Definition.Name, Group: b.ID, Why: is.Why, Dead: is.Failed, At: time.Now(), Hooks: b.Definition.OnFailure}
			if err := e.cfg.Pager.Page(ctx, in); err != nil {
				e.cfg.Log.WarnContext(ctx, "paging failed", "backfill", b.ID, "err", err)
			}
		}
		last = is
		if is.Running == 0 && (is.Halted || is.Done+is.Failed == is.Runs) {
			return is, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return is, ctx.Err()
		}
	}
}

// filling is a running backfill.
type filling struct {
	*Engine
	b      Backfill
	dues   []time.Time
	causes map[string]string // of failed runs, by id and version
}

// step reads the state of the runs, and starts those that may start.
func (f *filling) step(ctx context.Context) (BackfillStatus, error) {
	runs, err := f.backfilled(ctx, f.b.ID)
	if err != nil {
		return BackfillStatus{}, err
	}
	is := BackfillStatus{ID: f.b.ID, Runs: len(f.dues)}
	shared := map[string]int{}
	var todo []time.Time
	for _, due := range f.dues {
		r, there := runs[due.UnixMicro()]
		switch {
		case !there:
			todo = append(todo, due)
		case r.State == RunRunning:
			is.Running++
		case r.State == RunSuccess:
			is.Done++
		default:
			is.Failed++
			cause, err := f.cause(ctx, r)
			if err != nil {
				return is, err
			}
			if cause != "" {
				shared[cause]++
			}
		}
	}
	for cause, n := range shared {
		if n >= f.b.Share && n > 0 {
			is.Halted, is.Why = true, fmt.Sprintf("%d of %d runs failed with one fingerprint (%s): %d runs are not started", n, is.Done+is.Failed, cause, len(todo))
		}
	}
	if is.Halted {
		return is, nil
	}
	most := f.b.Parallel
	if is.Done == 0 && !f.b.NoCanary {
		most = 1
	}
	for _, due := range todo[:max(0, min(len(todo), most-is.Running))] {
		_, err := f.Start(ctx, StartRequest{
			Definition: f.b.Definition, Params: f.b.Params, Due: due, Backfill: f.b.ID,
			Key: f.b.Definition.Name + "@" + f.b.ID + "@" + due.UTC().Format(time.RFC3339Nano),
		})
		if err != nil && !errors.Is(err, ErrExists) {
			return is, err
		}
		is.Running++
	}
	return is, nil
}

// cause returns the fingerprint of the failure for which a run of this build is HELD or has failed; "" if the failure
// proves nothing.
func (f *filling) cause(ctx context.Context, r Run) (string, error) {
	key := fmt.Sprint(r.ID, r.Version)
	if cause, ok := f.causes[key]; ok {
		return cause, nil
	}
	all, err := f.cfg.Store.Instances(ctx, r.ID)
	if err != nil {
		return "", fmt.Errorf("read run %s: %w", r.ID, err)
	}
	sorted.StableFunc(all, func(a, b Instance) int { return cmp.Compare(a.Since.UnixMicro(), b.Since.UnixMicro()) })
	cause := ""
	for _, i := range all {
		n := len(i.History.Last)
		if i.State != task.DeadLetter && i.State != task.Failed || n == 0 {
			continue
		}
		if last := i.History.Last[n-1]; last.Fingerprint != "" && last.Build == f.b.Definition.Build {
			cause = i.Task + " " + last.Fingerprint
			break
		}
	}
	f.causes[key] = cause
	return cause, nil
}
