package flow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/task"
)

// maxRowRun is the most bytes of all rows in one run of rows.
const maxRowRun = 16 << 20

// RowStore is the part of a Store that RetryRows needs.
type RowStore interface {
	ListRuns(ctx context.Context, q RunQuery) ([]Run, error)
	Instances(ctx context.Context, run string) ([]Instance, error)
	ListAttempts(ctx context.Context, q AttemptQuery) ([]Attempt, error)
	Order(ctx context.Context, o Order) error
}

// RetryRows orders the retry of all bad rows that the last attempt of an instance named. Each row becomes an instance of a
// new run: see the package comment. It returns that run and the number of rows. The error is ErrOver if no row of the
// instance waits for a person.
func RetryRows(ctx context.Context, s RowStore, id, name string, index int, who, reason string) (rows Run, n int, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("retry rows of task %.80q of run %.80q: %w", name, id, err)
		}
	}()
	attempts, err := s.ListAttempts(ctx, AttemptQuery{Run: id, Task: name, Index: index})
	if err != nil {
		return Run{}, 0, err
	}
	for _, a := range slices.Backward(attempts) {
		if len(a.Ending.Rows) > 0 {
			return retryRows(ctx, s, &a, Order{Verb: VerbRetry, Task: name, Index: -1, Who: who, Reason: reason, At: time.Now()})
		}
	}
	return Run{}, 0, fmt.Errorf("the attempt reported no bad rows: %w", ErrNotFound)
}

func retryRows(ctx context.Context, s RowStore, a *Attempt, o Order) (Run, int, error) {
	found, err := s.ListRuns(ctx, RunQuery{Key: rowsKey(a), Limit: 1})
	if err != nil {
		return Run{}, 0, err
	}
	if len(found) == 0 {
		return Run{}, 0, fmt.Errorf("the rows of attempt %d are not dead letters: %w", a.N, ErrNotFound)
	}
	all, err := s.Instances(ctx, found[0].ID)
	if err != nil {
		return Run{}, 0, err
	}
	n := 0
	for _, i := range all {
		if i.State == task.DeadLetter {
			n++
		}
	}
	if n == 0 {
		return found[0], 0, fmt.Errorf("none of its rows waits for a person: %w", ErrOver)
	}
	o.Run = found[0].ID
	return found[0], n, s.Order(ctx, o)
}

// rowsKey returns the key of the run for an attempt's bad rows.
func rowsKey(a *Attempt) string { return rowsPrefix + letterID(a.Run, a.Task, a.Index, a.N) }

const rowsPrefix = "rows "

// RowsOf returns the id of the run whose bad rows r contains; "" if r is a run of its own.
func (r *Run) RowsOf() string {
	letter, ok := strings.CutPrefix(r.Key, rowsPrefix)
	if !ok {
		return ""
	}
	id, _, _ := strings.Cut(letter, "/")
	return id
}

// rowRun creates the run for the bad rows of an attempt: the task alone, without its needs. Each row is an instance, which
// is a dead letter and gets the row on standard input when it is retried. left counts the rows that cannot be tried alone.
func rowRun(run *Run, i *Instance, a *Attempt, rows []Row, now time.Time) (made Run, all []Instance, left int, err error) {
	r, err := rowRequest(run, i, a)
	if err != nil {
		return Run{}, nil, len(rows), err
	}
	if made, all, err = prepare(r, now); err != nil {
		return Run{}, nil, len(rows), err
	}
	size := 0
	for _, row := range rows {
		if size += len(row.Body); !utf8.Valid(row.Body) || size > maxRowRun {
			left++
			continue
		}
		reason := cmp.Or(row.Reason, "a bad row")
		group := hashed("row", i.Task, folded(reason))
		all = append(all, Instance{
			Run: made.ID, Task: i.Task, Index: len(all) - 1, Item: string(row.Body), State: task.DeadLetter, Group: group, Since: made.Created,
			Why:     fmt.Sprintf("row %d of task %s, attempt %d of run %s", row.Index, i.Task, a.N, a.Run),
			History: task.History{Last: []task.Failure{{Class: bezoar.Invalid.String(), Reason: reason, Group: group, At: made.Created}}},
		})
	}
	dead := len(all) - 1
	all[0].State, all[0].Why = task.Held, fmt.Sprintf("%d of %d instances wait for a person", dead, dead)
	made.State, made.Why = RunHeld, waiting(dead, 0)
	return made, all, left, nil
}

func rowRequest(run *Run, i *Instance, a *Attempt) (StartRequest, error) {
	k := slices.IndexFunc(run.Definition.Tasks, func(t Task) bool { return t.Name == i.Task })
	if k < 0 {
		return StartRequest{}, ErrNotFound
	}
	t, params := run.Definition.Tasks[k], maps.Clone(run.Params)
	if t.Sift != nil {
		t.Command, t.Sift = t.Sift.Command, nil
	}
	if len(t.Command) == 0 {
		return StartRequest{}, errors.New("only commands work on rows alone")
	}
	d := run.Definition
	if params == nil {
		params = map[string]string{}
	}
	maps.Copy(params, i.Set)
	if i.Item != "" { // the row takes its place
		t = withItem(t)
		d.Params = append(slices.Clip(d.Params), Param{Name: "bezoar_item"})
		params["bezoar_item"] = i.Item
	}
	t.Needs, t.Stdin, t.Each = nil, "{{.item}}", &Each{List: []string{"the bad rows"}} // which are there already
	d.Tasks, d.Schedule, d.Deadline, d.MaxRuns = []Task{t}, nil, 0, 0
	return StartRequest{Definition: d, Params: params, Due: run.Due, Key: rowsKey(a)}, nil
}

// withItem makes the templates of a task take the item from a parameter.
func withItem(t Task) Task {
	action, item := regexp.MustCompile(`\{\{[^}]*\}\}`), regexp.MustCompile(`\.item\b`)
	swap := func(s string) string {
		return action.ReplaceAllStringFunc(s, func(a string) string { return item.ReplaceAllString(a, ".params.bezoar_item") })
	}
	t.Command = slices.Clone(t.Command)
	for k := range t.Command {
		t.Command[k] = swap(t.Command[k])
	}
	t.Env = maps.Clone(t.Env)
	for k, v := range t.Env {
		v.Text = swap(v.Text)
		t.Env[k] = v
	}
	t.Dir, t.Key, t.Idempotent = swap(t.Dir), swap(t.Key), swap(t.Idempotent)
	return t
}
