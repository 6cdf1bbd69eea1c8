package flow

import (
	"errors"
	"fmt"
	"maps"
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

// literal is a template that becomes the text.
func literal(s string) string { return strings.ReplaceAll(s, "{{", `{{"{{"}}`) }
