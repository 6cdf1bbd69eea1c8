package flow

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/each"
	"github.com/bezoar-dev/bezoar/internal/flow/template"
	"github.com/bezoar-dev/bezoar/policy/task"
)

// templates caches parsed templates by their text.
type templates map[string]*template.Template

func templateFuncs() template.Funcs {
	return template.Funcs{
		"json": func(v any) (string, error) {
			b, err := json.Marshal(v)
			return string(b), err
		},
		"lower": strings.ToLower, "upper": strings.ToUpper, "trim": strings.TrimSpace,
		"join":    func(sep string, all []string) string { return strings.Join(all, sep) },
		"lines":   func(s string) []string { return strings.Split(strings.TrimRight(s, "\n"), "\n") },
		"replace": func(old, with, s string) string { return strings.ReplaceAll(s, old, with) },
		"date":    func(layout string, t time.Time) string { return t.Format(layout) },
	}
}

// CheckTemplate returns an error if the syntax of a template is wrong. Missing data is found only when the template is
// rendered.
func CheckTemplate(text string) error {
	_, err := parseTemplate(text)
	return err
}

func parseTemplate(text string) (*template.Template, error) {
	return template.Parse(text, templateFuncs()) //nolint:wrapcheck // it says that it is of a template, and where
}

func (c templates) render(text string, data any) (string, error) {
	if !strings.Contains(text, "{{") {
		return text, nil
	}
	t := c[text]
	if t == nil {
		var err error
		if t, err = parseTemplate(text); err != nil {
			return "", fmt.Errorf("template %.200q: %w", text, err)
		}
		c[text] = t
	}
	out, err := t.Execute(data)
	if err != nil {
		return "", fmt.Errorf("template %.200q: %w", text, err)
	}
	return out, nil
}

// data returns the data for the templates of an instance.
func (p *plan) data(i *inst) (map[string]any, error) {
	if p.runView == nil {
		zone := time.UTC
		if s := p.run.Definition.Schedule; s != nil && s.Zone != "" {
			z, err := time.LoadLocation(s.Zone)
			if err != nil {
				return nil, fmt.Errorf("schedule's zone: %w", err)
			}
			zone = z
		}
		due := p.run.Due.In(zone)
		p.runView = map[string]any{
			"id": p.run.ID, "flow": p.run.Flow, "due": due.Format(time.RFC3339), "date": due.Format(time.DateOnly), "time": due,
		}
	}
	return map[string]any{
		"params": p.params(i), "item": i.Item, "index": i.Index, "run": p.runView, "tasks": p.outputsOf(i.node), "env": nil,
	}, nil
}

// params returns the run's parameters, with an operator's changes for the instance.
func (p *plan) params(i *inst) map[string]string {
	if len(i.Set) == 0 {
		return p.run.Params
	}
	all := make(map[string]string, len(p.run.Params)+len(i.Set))
	maps.Copy(all, p.run.Params)
	maps.Copy(all, i.Set)
	return all
}

// outputsOf returns the outputs of the needed tasks.
func (p *plan) outputsOf(n *node) map[string]any {
	out := make(map[string]any, len(n.needs))
	for _, need := range n.needs {
		list := make([]string, 0, len(need.insts))
		for _, i := range need.insts {
			if i.State == task.Success {
				list = append(list, strings.TrimRight(string(i.Output), "\n"))
			}
		}
		one := ""
		if len(list) > 0 {
			one = list[0]
		}
		out[need.task.Name] = map[string]any{"output": one, "outputs": list}
	}
	return out
}

// renderer renders many templates and keeps the first error.
type renderer struct {
	cache templates
	data  any
	err   error
}

func (r *renderer) text(s string) string {
	if r.err != nil {
		return ""
	}
	out, err := r.cache.render(s, r.data)
	r.err = err
	return out
}

func (r *renderer) list(all []string) []string { return each.Of(all, r.text) }

func (r *renderer) values(sets ...map[string]Value) map[string]Value {
	out := map[string]Value{}
	for _, set := range sets {
		for k, v := range set {
			if v.Secret == "" {
				v.Text = r.text(v.Text)
			}
			out[k] = v
		}
	}
	return out
}

// simple reports whether a task contains no template.
func simple(t *Task) bool {
	texts := append(slices.Clone(t.Command), t.Stdin, t.Dir, t.Key, t.Idempotent)
	for _, v := range t.Env {
		texts = append(texts, v.Text)
	}
	return t.Sensor == nil && t.Sift == nil && !slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, "{{") })
}

// spec renders an attempt, its concurrency key and the key of its side effect.
func (p *plan) spec(i *inst) (s Spec, key, effect string, err error) {
	t, d := i.node.task, &p.run.Definition
	r := &renderer{cache: p.cache}
	if !p.plain || !i.node.plain {
		if r.data, err = p.data(i); err != nil {
			return Spec{}, "", "", err
		}
	}
	s = Spec{
		Run: p.run.ID, Flow: p.run.Flow, Task: t.Name, Index: max(i.Index, 0), Item: i.Item, N: i.History.Attempts + 1,
		Command: r.list(t.Command), Func: t.Func, Env: r.values(d.Env, t.Env), Dir: d.Dir,
		Timeout: t.Timeout, Grace: t.Grace, Memory: t.Memory, Alone: i.History.Alone(),
	}
	if t.Stdin != "" {
		s.Stdin = []byte(r.text(t.Stdin))
	}
	if t.Dir != "" {
		s.Dir = r.text(t.Dir)
	}
	if t.Sensor != nil {
		c := *t.Sensor
		c.Command, c.File, c.HTTP, c.SQL, c.DSN.Text = r.list(c.Command), r.text(c.File), r.text(c.HTTP), r.text(c.SQL), r.text(c.DSN.Text)
		s.Sensor = &c
	}
	if t.Sift != nil {
		c := *t.Sift
		c.Command, c.Rows = r.list(c.Command), r.text(c.Rows)
		s.Sift = &c
	}
	key, effect = r.text(t.Key), r.text(t.Idempotent)
	if effect != "" {
		effect = d.Name + "/" + t.Name + "/" + effect
	}
	s.Input = Input{
		Run: s.Run, Task: s.Task, Index: s.Index, Item: s.Item, Attempt: s.N, Due: p.run.Due, Params: maps.Clone(p.params(i)), Outputs: p.inputs(i),
	}
	return s, key, effect, r.err
}

// inputs returns the outputs of the tasks that a function needs.
func (p *plan) inputs(i *inst) map[string][][]byte {
	if i.node.task.Func == "" || len(i.node.needs) == 0 {
		return nil
	}
	out := make(map[string][][]byte, len(i.node.needs))
	for _, need := range i.node.needs {
		for _, from := range need.insts {
			if from.State == task.Success {
				out[need.task.Name] = append(out[need.task.Name], from.Output)
			}
		}
	}
	return out
}
