package triage

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/sorted"
	"github.com/bezoar-dev/bezoar/queue"
)

// Task is the moving of many letters, while it lasts and after.
type Task struct {
	ID          string          `json:"id"`
	Verb        Verb            `json:"verb"`
	Source      string          `json:"source"`                // the dead-letter queue
	Destination string          `json:"destination,omitempty"` // "": the queue each letter came from
	Selection   queue.Selection `json:"selection"`
	State       queue.MoveState `json:"state"`
	Failure     string          `json:"failure,omitempty"` // why it failed or halted
	Actor       string          `json:"actor,omitempty"`
	Reason      string          `json:"reason,omitempty"`
	Started     time.Time       `json:"started"`
	Ended       time.Time       `json:"ended,omitzero"`
	Rate        int             `json:"rate"`
	Canary      int             `json:"canary"`
	HaltAbove   float64         `json:"halt_above"`
	Planned     int64           `json:"planned"`      // letters there were when it started
	Moved       int64           `json:"moved"`        // so far
	Succeeded   int64           `json:"succeeded"`    // of those redriven, worked
	FailedAgain int64           `json:"failed_again"` // of those redriven, dead again
	// Waiting are those redriven of which nothing is known yet.
	Waiting int64 `json:"waiting"`
	// Waits says what a running task waits for, "" for nothing.
	Waits string `json:"waits,omitempty"`
	// LeftOut are letters like those selected that a restore leaves in the
	// trash, since edited copies took their places. Only where one task is
	// asked for.
	LeftOut int64 `json:"left_out,omitempty"`
	// Arrivals are letters like those selected that died since it started,
	// those that failed again among them. Only where one task is asked for.
	Arrivals int64 `json:"arrivals"`
	// Left is how long the rest will take, at its rate; 0 when that depends on
	// more: while it stands still, or waits for what it sent.
	Left time.Duration `json:"left,omitempty"`
}

// Over reports whether a task has come to its end.
func (t Task) Over() bool { return !t.State.Live() }

// view is a task as people see it.
func view(t queue.MoveTask) Task {
	v := Task{
		ID: t.ID, Verb: verbOf(t.Kind), Source: t.Source, Destination: t.Destination, Selection: t.Selection,
		State: t.State, Failure: t.Failure, Actor: t.Actor, Reason: t.Reason, Started: t.Started, Ended: t.Ended,
		Rate: t.Rate, Canary: t.Canary, HaltAbove: t.HaltAbove,
		Planned: t.ToMove, Moved: t.Moved, Succeeded: t.Done, FailedAgain: t.Dead,
	}
	v.Waiting, v.Waits, v.Left = t.Pending(), t.Waits(), left(t)
	return v
}

// left is how long a task will take, by its rate.
func left(t queue.MoveTask) time.Duration {
	if t.State != queue.MoveRunning || t.Rate <= 0 {
		return 0
	}
	if most, halt := t.Plan(); halt || most >= 0 || t.Drained {
		return 0 // it waits for what it sent
	}
	seconds := float64(max(t.ToMove-t.Moved, 0)) / float64(t.Rate)
	return time.Duration(seconds * float64(time.Second)).Round(time.Millisecond)
}

// TaskQuery narrows a list of tasks.
type TaskQuery struct {
	Source string // "" for all
	Live   bool   // only those that may go on
	SQS    bool   // also those that were started through the SQS API
	Limit  int    // 1 to MaxLetters; 0 means 100
}

// Tasks lists tasks, the newest first.
func (svc *Service) Tasks(ctx context.Context, q TaskQuery) ([]Task, error) {
	limit, err := within(q.Limit, MaxLetters)
	if err != nil {
		return nil, wrap(err, "list tasks")
	}
	moves, err := svc.config.Queue.Tasks(ctx, queue.MoveQuery{Source: q.Source, Live: q.Live, Triage: !q.SQS, Limit: limit})
	if err != nil {
		return nil, wrap(err, "list tasks")
	}
	runs, err := svc.runs(ctx)
	if err != nil {
		return nil, wrap(err, "list tasks")
	}
	tasks := make([]Task, 0, len(moves)+len(runs))
	for _, m := range moves {
		tasks = append(tasks, view(m))
	}
	for _, r := range runs {
		t := r.view()
		if (q.Source == "" || q.Source == t.Source) && (!q.Live || !t.Over()) {
			tasks = append(tasks, t)
		}
	}
	sorted.StableFunc(tasks, func(a, b Task) int { return b.Started.Compare(a.Started) })
	return tasks[:min(limit, len(tasks))], nil
}

// Task returns one task, with its arrivals, or queue.ErrMoveNotFound.
func (svc *Service) Task(ctx context.Context, id string) (Task, error) {
	t, err := svc.task(ctx, id)
	if err == nil {
		t.Arrivals, err = svc.arrivals(ctx, t)
	}
	if err == nil {
		t.LeftOut, err = svc.leftOut(ctx, t.Selection)
	}
	if t.Waits != "" && t.Verb == Redrive {
		to := cmp.Or(t.Destination, t.Selection.Origin, strings.TrimSuffix(t.Source, "-dlq"))
		for _, why := range svc.pauses(ctx, to) {
			t.Waits += "; " + why
		}
	}
	return t, wrap(err, "show task %.64q", id)
}

func (svc *Service) task(ctx context.Context, id string) (Task, error) {
	if isID("run", id) {
		r, err := svc.run(ctx, id)
		return r.view(), err
	}
	if id == "" {
		return Task{}, queue.ErrMoveNotFound
	}
	moves, err := svc.config.Queue.Tasks(ctx, queue.MoveQuery{ID: id, Limit: 1})
	if err != nil {
		return Task{}, err
	}
	if len(moves) == 0 {
		return Task{}, queue.ErrMoveNotFound
	}
	return view(moves[0]), nil
}

// arrivals counts what died while a task was at work. A selection of ids does
// not grow.
func (svc *Service) arrivals(ctx context.Context, t Task) (int64, error) {
	s := t.Selection
	if len(s.IDs) > 0 || t.Verb == Restore {
		return 0, nil
	}
	if s.Before = t.Ended; !s.Before.IsZero() && !s.After.Before(s.Before) {
		return 0, nil
	}
	store := svc.stores(s)[0]
	then, _, err := store.CountLetters(ctx, s)
	if err != nil {
		return 0, err
	}
	s.Last = 0
	now, _, err := store.CountLetters(ctx, s)
	return max(now-then, 0), err
}

// Pause makes a task stand still.
func (svc *Service) Pause(ctx context.Context, who Actor, id string) (Task, error) {
	return svc.change(ctx, who, "task.pause", id, queue.MoveChange{State: queue.MovePaused})
}

// Resume lets a task go on that is paused or has halted. What has failed before
// does not make it halt again.
func (svc *Service) Resume(ctx context.Context, who Actor, id string) (Task, error) {
	return svc.change(ctx, who, "task.resume", id, queue.MoveChange{State: queue.MoveRunning})
}

// Cancel ends a task; what it has moved stays moved.
func (svc *Service) Cancel(ctx context.Context, who Actor, id string) (Task, error) {
	return svc.change(ctx, who, "task.cancel", id, queue.MoveChange{State: queue.MoveCancelled})
}

// SetRate changes how many letters a second a task moves.
func (svc *Service) SetRate(ctx context.Context, who Actor, id string, rate int) (Task, error) {
	if rate < 1 || rate > queue.MaxTriageRate {
		err := invalid("change the rate of task %.64q: %d is not within 1 to %d", id, rate, queue.MaxTriageRate)
		svc.audit(ctx, who, "task.rate", bound(id, 64), Detail{}, err)
		return Task{}, err
	}
	return svc.change(ctx, who, "task.rate", id, queue.MoveChange{Rate: rate})
}

func (svc *Service) change(ctx context.Context, who Actor, action, id string, c queue.MoveChange) (Task, error) {
	t, err := svc.changeTask(ctx, id, c)
	note := Detail{}
	if err == nil {
		note.Planned, note.Actual, note.Outcome = &t.Planned, &t.Moved, string(t.State)
	}
	if c.Rate > 0 {
		note.Options = &Options{Rate: c.Rate}
	}
	if err != nil {
		err = fmt.Errorf("%s %.64q: %w", action, id, err)
	}
	svc.audit(ctx, who, action, bound(id, 64), note, err)
	return t, err
}

func (svc *Service) changeTask(ctx context.Context, id string, c queue.MoveChange) (Task, error) {
	if isID("run", id) {
		r, err := svc.changeRun(ctx, id, c)
		return r.view(), err
	}
	if id == "" {
		return Task{}, queue.ErrMoveNotFound
	}
	t, err := svc.config.Queue.ChangeTask(ctx, id, c)
	if err != nil {
		return Task{}, err
	}
	return view(t), nil
}
