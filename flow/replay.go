package flow

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// ReplayRow makes a run that works on one bad row alone: the task of the letter,
// without what it needs, with the row on standard input and its number in
// BEZOAR_ROW. A sift task's command runs as for a batch of one row. There is one
// such run for each letter. Templates that use outputs of other tasks fail.
func ReplayRow(r Run, l Letter) (StartRequest, error) {
	if l.Row == nil {
		return StartRequest{}, fmt.Errorf("letter %.200q is not about a row", l.ID)
	}
	for _, t := range r.Definition.Tasks {
		if t.Name != l.Task {
			continue
		}
		switch {
		case t.Sift != nil:
			t.Command, t.Sift = t.Sift.Command, nil
		case len(t.Command) == 0:
			return StartRequest{}, errors.New("only commands work on a row alone")
		}
		t.Needs, t.Each, t.Stdin = nil, nil, literal(string(l.Row.Body))
		if l.Item != "" {
			t.Each = &Each{List: []string{literal(l.Item)}}
		}
		t.Env = maps.Clone(t.Env)
		if t.Env == nil {
			t.Env = map[string]Value{}
		}
		t.Env["BEZOAR_ROW"] = Value{Text: strconv.Itoa(l.Row.Index)}
		d := r.Definition
		d.Tasks, d.Schedule, d.Deadline = []Task{t}, nil, 0
		return StartRequest{Definition: d, Params: maps.Clone(l.Params), Due: r.Due, Key: "row " + l.ID}, nil
	}
	return StartRequest{}, fmt.Errorf("run %s has no task %.80q", r.ID, l.Task)
}

// ReplayRows starts a run for each bad row that the instance's last attempt with
// bad rows named. Rows that are replayed already are left out.
func ReplayRows(ctx context.Context, s Store, id, name string, index int) (started []Run, err error) {
	run, err := s.Run(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("replay rows of run %.80q: %w", id, err)
	}
	all, err := s.ListAttempts(ctx, AttemptQuery{Run: id, Task: name, Index: index})
	if err != nil {
		return nil, fmt.Errorf("replay rows of run %s: %w", id, err)
	}
	instances, err := s.Instances(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("replay rows of run %s: %w", id, err)
	}
	at := slices.IndexFunc(instances, func(i Instance) bool { return i.Task == name && i.Index == index })
	for _, a := range slices.Backward(all) {
		if len(a.Ending.Rows) == 0 || at < 0 {
			continue
		}
		for k := range a.Ending.Rows {
			row := &a.Ending.Rows[k]
			l := Letter{ID: rowID(id, name, index, a.N, row), Task: name, Item: instances[at].Item, Params: run.Params, Row: row}
			r, err := ReplayRow(run, l)
			if err != nil {
				return started, err
			}
			one, err := Start(ctx, s, r)
			if errors.Is(err, ErrExists) {
				continue
			}
			if err != nil {
				return started, err
			}
			started = append(started, one)
		}
		return started, nil
	}
	return nil, fmt.Errorf("task %.80q of run %s has named no bad rows: %w", name, id, ErrNotFound)
}

// literal is a template that becomes the text.
func literal(s string) string { return strings.ReplaceAll(s, "{{", `{{"{{"}}`) }
