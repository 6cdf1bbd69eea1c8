package flow

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/each"
)

// WithDefaults returns d with every zero field set to its default.
func (d Definition) WithDefaults() Definition {
	if d.MaxRuns == 0 {
		d.MaxRuns = 16
		if d.Schedule != nil {
			d.MaxRuns = 1
		}
	}
	d.Tasks = slices.Clone(d.Tasks)
	for i := range d.Tasks {
		d.Tasks[i] = d.Tasks[i].withDefaults()
	}
	if d.Build == "" {
		d.Build = buildOf(d)
	}
	return d
}

func (t Task) withDefaults() Task {
	t.Retry.Attempts = cmp.Or(t.Retry.Attempts, 3)
	t.Retry.Backoff = t.Retry.Backoff.WithDefaults()
	t.Grace = cmp.Or(t.Grace, 5*time.Second)
	t.Poison.MinAttempts = cmp.Or(t.Poison.MinAttempts, 2)
	t.Poison.Siblings = cmp.Or(t.Poison.Siblings, 3)
	if t.Pool != "" && t.Slots == 0 {
		t.Slots = 1
	}
	if t.Key != "" && t.Limit == 0 {
		t.Limit = 1
	}
	if t.Sensor != nil {
		s := *t.Sensor
		s.Every = cmp.Or(s.Every, 30*time.Second)
		s.Timeout = cmp.Or(s.Timeout, time.Hour)
		t.Sensor = &s
	}
	return t
}

// Fault is an error in a definition.
type Fault struct {
	Task  string // "": the flow itself
	Field string // as in YAML, for example needs or retry.attempts
	Value string // the item that is wrong, if there are several
	Text  string // what is wrong, and how to fix it
}

func (f *Fault) Error() string {
	where := f.Field
	if f.Task != "" {
		where = "task " + f.Task + ": " + f.Field
	}
	return where + ": " + f.Text
}

// Validate reports every fault, each as a [*Fault].
func (d Definition) Validate() error {
	c := &checker{d: d.WithDefaults(), byName: map[string]*Task{}}
	c.flow()
	for i := range c.d.Tasks {
		c.task(&c.d.Tasks[i])
	}
	if len(c.errs) == 0 {
		if cycle := c.d.Cycle(); cycle != nil {
			c.fault(cycle[0], "needs", "", "the tasks need each other in a circle: %s", strings.Join(cycle, " needs "))
		}
	}
	return errors.Join(c.errs...)
}

type checker struct {
	d      Definition
	byName map[string]*Task
	errs   []error
}

func (c *checker) fault(task, field, value, format string, args ...any) {
	c.errs = append(c.errs, &Fault{Task: task, Field: field, Value: value, Text: fmt.Sprintf(format, args...)})
}

// when is fault, if something is bad.
func (c *checker) when(bad bool, task, field, value, format string, args ...any) {
	if bad {
		c.fault(task, field, value, format, args...)
	}
}

func (c *checker) flow() {
	d := &c.d
	if why := badName(d.Name); why != "" {
		c.fault("", "name", d.Name, "%s", why)
	}
	c.when(len(d.Tasks) == 0, "", "tasks", "", "there is none, want at least one")
	c.when(len(d.Tasks) > MaxTasks, "", "tasks", "", "there are %d, want at most %d", len(d.Tasks), MaxTasks)
	c.when(len(d.Params) > MaxParams, "", "params", "", "there are %d, want at most %d", len(d.Params), MaxParams)
	c.when(d.Deadline < 0, "", "deadline", "", "%v is negative", d.Deadline)
	if d.Schedule != nil {
		if _, err := newCalendar(*d.Schedule); err != nil {
			c.fault("", "schedule", "", "%s", err)
		}
		c.when(d.Schedule.CatchUp < 0, "", "schedule.catch_up", "", "%v is negative", d.Schedule.CatchUp)
	}
	c.when(d.MaxRuns < 0, "", "max_runs", "", "%d is negative", d.MaxRuns)
	for name, size := range d.Pools {
		c.when(size < 1, "", "pools", name, "pool %s has %d slots, want at least 1", name, size)
	}
	for i := range d.Tasks {
		name := d.Tasks[i].Name
		c.when(c.byName[name] != nil, name, "name", "", "there are two tasks with this name")
		c.byName[name] = &d.Tasks[i]
	}
}

func (c *checker) task(t *Task) {
	if why := badName(t.Name); why != "" {
		c.fault(t.Name, "name", "", "%s", why)
	}
	c.needs(t)
	c.work(t)
	c.bounds(t)
	if e := t.Each; e != nil {
		c.each(t, e)
	}
}

func (c *checker) needs(t *Task) {
	c.when(len(t.Needs) > MaxNeeds, t.Name, "needs", "", "there are %d, want at most %d", len(t.Needs), MaxNeeds)
	for i, need := range t.Needs {
		switch {
		case need == t.Name:
			c.fault(t.Name, "needs", need, "the task needs itself")
		case c.byName[need] == nil:
			c.fault(t.Name, "needs", need, "there is no task %q", need)
		case slices.Contains(t.Needs[:i], need):
			c.fault(t.Name, "needs", need, "%q is there twice", need)
		}
	}
}

func (c *checker) work(t *Task) {
	n := 0
	for _, is := range []bool{len(t.Command) > 0, t.Func != "", t.Sensor != nil, t.Sift != nil} {
		if is {
			n++
		}
	}
	c.when(n != 1, t.Name, "command", "", "want exactly one of command, func, sensor and sift, got %d", n)
	c.when(t.SideEffect && t.Idempotent == "", t.Name, "idempotency_key", "", "a side effect needs a key: it happens once for each value of the key")
	c.when(!t.SideEffect && t.Idempotent != "", t.Name, "idempotency_key", "", "it is for a task with side_effect: true")
	c.when(t.SideEffect && t.Sensor != nil, t.Name, "side_effect", "", "a sensor runs many times")
	c.when(t.Pool != "" && c.d.Pools[t.Pool] > 0 && t.Slots > c.d.Pools[t.Pool], t.Name, "slots", "", "the task takes %d slots of a pool with %d: it would wait for ever", t.Slots, c.d.Pools[t.Pool])
	c.when(t.Pool == "" && t.Slots != 0, t.Name, "slots", "", "they are of a pool: name it")
}

func (c *checker) bounds(t *Task) {
	for field, d := range map[string]time.Duration{"timeout": t.Timeout, "grace": t.Grace} {
		c.when(d < 0, t.Name, field, "", "%v is negative", d)
	}
	for field, n := range map[string]int{
		"retry.attempts": t.Retry.Attempts - 1, "poison.after": t.Poison.After, "poison.min_attempts": t.Poison.MinAttempts,
		"poison.siblings": t.Poison.Siblings, "slots": t.Slots, "limit": t.Limit,
	} {
		c.when(n < 0, t.Name, field, "", "it is too small")
	}
	c.when(t.Memory < 0, t.Name, "memory", "", "%d is negative", t.Memory)
	if err := t.Retry.Backoff.Validate(); err != nil {
		c.fault(t.Name, "retry", "", "%s", strings.ReplaceAll(err.Error(), "\n", ", "))
	}
	if s := t.Sensor; s != nil && (s.Every < 0 || s.Timeout < 0) {
		c.fault(t.Name, "sensor", "", "a time is negative")
	}
}

func (c *checker) each(t *Task, e *Each) {
	n := 0
	for _, is := range []bool{len(e.List) > 0, e.Glob != "", e.From != ""} {
		if is {
			n++
		}
	}
	c.when(n > 1, t.Name, "each", "", "want one of list, glob and from, got %d", n)
	c.when(e.From != "" && !slices.Contains(t.Needs, e.From), t.Name, "each.from", e.From, "add %q to needs: its output has to be there first", e.From)
	c.when(len(e.List) > MaxInstances, t.Name, "each.list", "", "there are %d items, want at most %d", len(e.List), MaxInstances)
}

// badName says what is wrong with a name, or "".
func badName(s string) string {
	if s == "" {
		return "a name is missing"
	}
	if len(s) > MaxName {
		return fmt.Sprintf("the name has %d bytes, want at most %d", len(s), MaxName)
	}
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_' && r != '.' {
			return fmt.Sprintf("%q has %q: want letters, digits, '-', '_' and '.'", s, r)
		}
	}
	return ""
}

// Cycle returns tasks that need each other in a circle, with the first one repeated at the
// end, or nil.
func (d Definition) Cycle() []string {
	index := make(map[string]int, len(d.Tasks))
	for i := range d.Tasks {
		index[d.Tasks[i].Name] = i
	}
	state := make([]uint8, len(d.Tasks)) // 1: on the path, 2: done
	next := make([]int, len(d.Tasks))    // the next need to look at
	for start := range d.Tasks {
		path := []int{start}
		for len(path) > 0 {
			i := path[len(path)-1]
			if state[i] == 2 || next[i] == len(d.Tasks[i].Needs) {
				state[i], path = 2, path[:len(path)-1]
				continue
			}
			state[i] = 1
			need, ok := index[d.Tasks[i].Needs[next[i]]]
			next[i]++
			if !ok || state[need] == 2 {
				continue
			}
			if state[need] == 1 {
				return d.names(append(path[slices.Index(path, need):], need))
			}
			path = append(path, need)
		}
	}
	return nil
}

func (d Definition) names(tasks []int) []string {
	return each.Of(tasks, func(t int) string { return d.Tasks[t].Name })
}
