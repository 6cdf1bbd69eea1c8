package flowfile

import (
	"cmp"
	"maps"
	"path/filepath"
	"strings"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/sorted"
	"github.com/bezoar-dev/bezoar/policy/backoff"
)

// definition converts the file, which is in dir, into a flow.
func (c *checker) definition(dir string) flow.Definition {
	f := c.f
	d := flow.Definition{
		Name: f.Name, Env: c.values("env", f.Env, dir), Dir: below(dir, f.Dir), Deadline: f.Deadline, MaxRuns: f.MaxRuns,
		OnDeadLetter: c.hooks("on_dead_letter", f.OnDeadLetter), OnFailure: c.hooks("on_failure", f.OnFailure), Build: f.Build,
	}
	for _, name := range inOrder(f.Params, func(p param) at { return p.at }) {
		p := f.Params[name]
		d.Params = append(d.Params, flow.Param{Name: name, Default: p.Default, Required: p.Required, Help: p.Help})
	}
	for name, l := range f.Labels {
		if d.Labels == nil {
			d.Labels = map[string]string{}
		}
		d.Labels[name] = l.text
	}
	for name, p := range f.Pools {
		if d.Pools == nil {
			d.Pools = map[string]int{}
		}
		d.Pools[name] = p.Slots
	}
	if f.Schedule != (schedule{}) {
		d.Schedule = &flow.Schedule{Cron: f.Schedule.Cron, Zone: f.Schedule.Zone, CatchUp: f.Schedule.CatchUp}
	}
	for _, name := range inOrder(f.Tasks, func(t task) at { return t.at }) {
		d.Tasks = append(d.Tasks, c.task(name, f.Tasks[name], dir, d.Dir))
	}
	return d
}

// inOrder returns the keys of a mapping in the order of the file.
func inOrder[T any](m map[string]T, place func(T) at) []string {
	return sorted.Collect(maps.Keys(m), func(a, b string) int {
		return cmp.Or(place(m[a]).before(place(m[b])), strings.Compare(a, b))
	})
}

// below resolves a path relative to a folder. The path may be a template.
func below(dir, path string) string {
	switch {
	case path == "":
		return dir
	case filepath.IsAbs(path), strings.HasPrefix(path, "{{"):
		return path
	case strings.Contains(path, "{{"):
		return dir + string(filepath.Separator) + path // not cleaned: dots may belong to a template
	}
	return filepath.Join(dir, path)
}

func (c *checker) task(name string, t task, dir, work string) flow.Task {
	path := config.Path("tasks", name)
	out := flow.Task{
		Name: name, Needs: t.Needs, Command: t.Command, Func: t.Func, Env: c.values(path+".env", t.Env, dir), Stdin: t.Stdin,
		Retry:   flow.Retry{Attempts: t.Retry.Attempts, Backoff: backoff.Config{Strategy: c.strategy(path, t.Retry.Jitter), Base: t.Retry.Base, Cap: t.Retry.Cap}},
		Timeout: t.Timeout, Grace: t.Grace, Memory: int64(t.Memory),
		Poison: flow.Poison{Off: t.Poison.off, After: t.Poison.After, MinAttempts: t.Poison.MinAttempts, Siblings: t.Poison.Siblings},
		Pool:   t.Pool, Slots: t.Slots, Key: t.Key, Limit: t.Limit, Downstream: t.Downstream, RunsOn: t.RunsOn,
		SideEffect: t.SideEffect, Idempotent: t.IdempotencyKey, Permit: t.PermitFailure,
	}
	if t.Dir != "" {
		out.Dir = below(work, t.Dir)
	}
	if s := t.Sensor; s != nil {
		out.Sensor = &flow.Sensor{
			Command: s.Command, File: s.File, HTTP: s.HTTP, SQL: s.SQL, DSN: c.value(path+".sensor.dsn", s.DSN, dir), Every: s.Every, Timeout: s.Timeout,
		}
		c.sensor(path+".sensor", s)
	}
	if s := t.Sift; s != nil {
		out.Sift = &flow.Sift{Command: s.Command, Rows: s.Rows, Batch: s.Batch}
		c.sift(path+".sift", s)
	}
	if e := t.Each; e != nil {
		out.Each = &flow.Each{List: e.List, From: e.From}
		if e.Glob != "" {
			out.Each.Glob = below(cmp.Or(out.Dir, work), e.Glob)
		}
	}
	return out
}

func (c *checker) values(path string, in map[string]value, dir string) map[string]flow.Value {
	if len(in) == 0 {
		return nil
	}
	out := make(map[string]flow.Value, len(in))
	for name, v := range in {
		out[name] = c.value(config.Path(path, name), v, dir)
	}
	return out
}

// value returns a text or a reference to a secret.
func (c *checker) value(path string, v value, dir string) flow.Value {
	if v.Secret == "" {
		return flow.Value{Text: v.text}
	}
	kind, name, _ := strings.Cut(v.Secret, ":")
	switch {
	case kind == "env" && variable(name):
	case kind == "file" && name != "":
		return flow.Value{Secret: "file:" + below(dir, name)}
	default:
		c.add(path+".secret", config.Quoted(v.Secret)+" is not a reference to a secret", "write env:NAME or file:PATH")
	}
	return flow.Value{Secret: v.Secret}
}

func (c *checker) hooks(path string, in []hook) (out []flow.Hook) {
	for i, h := range in {
		out = append(out, flow.Hook{Command: h.Command, Webhook: h.Webhook, Mail: h.Mail})
		c.hook(path, i, h)
	}
	return out
}
