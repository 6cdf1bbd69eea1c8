package flow

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxReplay bounds the bytes of all rows of one replay.
const maxReplay = 16 << 20

// RowStore is what [ReplayRows] needs of a [Store].
type RowStore interface {
	Run(ctx context.Context, id string) (Run, error)
	Instances(ctx context.Context, run string) ([]Instance, error)
	ListAttempts(ctx context.Context, q AttemptQuery) ([]Attempt, error)
	CreateRun(ctx context.Context, r Run, all []Instance) error
}

// ReplayRows starts a run with one instance for each bad row that an instance's
// last attempt with bad rows named: the task alone, without what it needs, with
// the row on standard input. A sift task's command runs as for a batch of one
// row. A row that fails again is a dead letter of that run. The rows of one
// attempt are replayed once: a second time is [ErrExists]. Templates that use
// outputs of other tasks fail.
func ReplayRows(ctx context.Context, s RowStore, id, name string, index int) (started Run, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("replay rows of task %.80q of run %.80q: %w", name, id, err)
		}
	}()
	run, err := s.Run(ctx, id)
	if err != nil {
		return Run{}, err
	}
	attempts, err := s.ListAttempts(ctx, AttemptQuery{Run: id, Task: name, Index: index})
	if err != nil {
		return Run{}, err
	}
	instances, err := s.Instances(ctx, id)
	if err != nil {
		return Run{}, err
	}
	at := slices.IndexFunc(instances, func(i Instance) bool { return i.Task == name && i.Index == index })
	for _, a := range slices.Backward(attempts) {
		if at < 0 || len(a.Ending.Rows) == 0 {
			continue
		}
		r, err := replay(run, instances[at], a)
		if err != nil {
			return Run{}, err
		}
		return startIn(ctx, s, r)
	}
	return Run{}, fmt.Errorf("it has named no bad rows: %w", ErrNotFound)
}

// replay makes the run.
func replay(run Run, i Instance, a Attempt) (StartRequest, error) {
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
	if i.Item != "" { // the row takes its place
		t = withItem(t)
		d.Params = append(slices.Clip(d.Params), Param{Name: "bezoar_item"})
		if params == nil {
			params = map[string]string{}
		}
		params["bezoar_item"] = i.Item
	}
	size := 0
	t.Each = &Each{}
	for _, row := range a.Ending.Rows {
		if !utf8.Valid(row.Body) {
			return StartRequest{}, fmt.Errorf("row %d is not text", row.Index)
		}
		size += len(row.Body)
		t.Each.List = append(t.Each.List, strings.ReplaceAll(string(row.Body), "{{", `{{"{{"}}`))
	}
	if size > maxReplay {
		return StartRequest{}, fmt.Errorf("the rows have %d bytes, more than %d", size, maxReplay)
	}
	t.Needs, t.Stdin = nil, "{{.item}}"
	d.Tasks, d.Schedule, d.Deadline = []Task{t}, nil, 0
	key := "rows " + letterID(i.Run, i.Task, i.Index, a.N)
	return StartRequest{Definition: d, Params: params, Due: run.Due, Key: key}, nil
}

// withItem has the templates of a task take the item from a parameter.
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
