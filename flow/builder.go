package flow

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar/internal/faults"
)

// Builder builds a definition in Go.
type Builder struct {
	d         Definition
	functions Functions
	tasks     []*TaskBuilder
}

// Build starts the definition of a flow.
func Build(name string) *Builder {
	return &Builder{d: Definition{Name: name}, functions: Functions{}}
}

// Param adds a parameter with its default.
func (b *Builder) Param(name, value string) *Builder {
	b.d.Params = append(b.d.Params, Param{Name: name, Default: value})
	return b
}

// Deadline sets how long a run may take after its due time.
func (b *Builder) Deadline(d time.Duration) *Builder {
	b.d.Deadline = d
	return b
}

// Pool sets the size of a pool.
func (b *Builder) Pool(name string, slots int) *Builder {
	if b.d.Pools == nil {
		b.d.Pools = map[string]int{}
	}
	b.d.Pools[name] = slots
	return b
}

// Every starts runs by a schedule, in the notation of package policy/cron.
func (b *Builder) Every(cron, zone string) *Builder {
	b.d.Schedule = &Schedule{Cron: cron, Zone: zone}
	return b
}

// With edits fields that have no method of their own.
func (b *Builder) With(edit func(*Definition)) *Builder {
	edit(&b.d)
	return b
}

// Task adds a task. Set what it runs by Command, Call or With.
func (b *Builder) Task(name string) *TaskBuilder {
	t := &TaskBuilder{b: b, t: Task{Name: name}}
	b.tasks = append(b.tasks, t)
	return t
}

// Definition returns the definition, or an error with all of its faults.
func (b *Builder) Definition() (Definition, error) {
	d := b.d
	d.Tasks = slices.Clone(d.Tasks)
	for _, t := range b.tasks {
		d.Tasks = append(d.Tasks, t.t)
	}
	errs := faults.List{d.Validate()}
	for _, t := range d.Tasks {
		errs.If(t.Func != "" && b.functions[t.Func] == nil, "task %s: there is no function %s", t.Name, t.Func)
	}
	return d, errors.Join(errs...)
}

// Functions returns the functions of the tasks, for Config.
func (b *Builder) Functions() Functions { return maps.Clone(b.functions) }

// TaskBuilder builds one task.
type TaskBuilder struct {
	b *Builder
	t Task
}

// Command makes the task run a program. The arguments are templates.
func (t *TaskBuilder) Command(program string, args ...string) *TaskBuilder {
	t.t.Command = append([]string{program}, args...)
	return t
}

// Call makes the task call a function, which is known by the name of the task.
func (t *TaskBuilder) Call(f Func) *TaskBuilder {
	t.t.Func = t.t.Name
	t.b.functions[t.t.Name] = f
	return t
}

// Needs names tasks that must end first.
func (t *TaskBuilder) Needs(tasks ...string) *TaskBuilder {
	t.t.Needs = append(t.t.Needs, tasks...)
	return t
}

// Each makes the task run once for each item.
func (t *TaskBuilder) Each(items ...string) *TaskBuilder {
	t.t.Each = &Each{List: items}
	return t
}

// EachOf makes the task run once for each item of the output of another task: a JSON
// array, or lines.
func (t *TaskBuilder) EachOf(task string) *TaskBuilder {
	t.t.Each = &Each{From: task}
	if !slices.Contains(t.t.Needs, task) {
		t.t.Needs = append(t.t.Needs, task)
	}
	return t
}

// Timeout bounds one attempt.
func (t *TaskBuilder) Timeout(d time.Duration) *TaskBuilder {
	t.t.Timeout = d
	return t
}

// Attempts bounds the attempts that fail by themselves.
func (t *TaskBuilder) Attempts(n int) *TaskBuilder {
	t.t.Retry.Attempts = n
	return t
}

// PermitFailure lets tasks that need this one run even if it failed.
func (t *TaskBuilder) PermitFailure() *TaskBuilder {
	t.t.Permit = true
	return t
}

// Once makes the task a side effect that happens at most once for each value of
// key, a template.
func (t *TaskBuilder) Once(key string) *TaskBuilder {
	t.t.SideEffect, t.t.Idempotent = true, key
	return t
}

// With edits fields that have no method of their own.
func (t *TaskBuilder) With(edit func(*Task)) *TaskBuilder {
	edit(&t.t)
	return t
}
