package flow_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/flow"
)

func TestFaultsOfDefinitions(t *testing.T) {
	good := flow.Task{Name: "a", Command: []string{"true"}}
	with := func(edit func(*flow.Task)) flow.Definition {
		bad := good
		bad.Name = "b"
		edit(&bad)
		return flow.Definition{Name: "d", Pools: map[string]int{"db": 2}, Tasks: []flow.Task{good, bad}}
	}
	for want, d := range map[string]flow.Definition{
		"tasks: there is none": {Name: "d"},
		"name: a name is missing\nname: a name is missing\ncommand: want exactly one":                    {Tasks: []flow.Task{{}}},
		`task b: needs: there is no task "nobody"`:                                                       with(func(t *flow.Task) { t.Needs = []string{"nobody"} }),
		"task b: needs: the task needs itself":                                                           with(func(t *flow.Task) { t.Needs = []string{"b"} }),
		`task b: needs: "a" is there twice`:                                                              with(func(t *flow.Task) { t.Needs = []string{"a", "a"} }),
		"task b: command: want exactly one of command, func, sensor and sift, got 2":                     with(func(t *flow.Task) { t.Func = "f" }),
		"task b: idempotency_key: a side effect needs a key":                                             with(func(t *flow.Task) { t.SideEffect = true }),
		"task b: idempotency_key: it is for a task with side_effect: true":                               with(func(t *flow.Task) { t.Idempotent = "k" }),
		"task b: slots: the task takes 3 slots of a pool with 2: it would wait for ever":                 with(func(t *flow.Task) { t.Pool, t.Slots = "db", 3 }),
		"task b: slots: they are of a pool":                                                              with(func(t *flow.Task) { t.Slots = 1 }),
		"task b: timeout: -1s is negative":                                                               with(func(t *flow.Task) { t.Timeout = -time.Second }),
		"task b: retry.attempts: it is too small":                                                        with(func(t *flow.Task) { t.Retry.Attempts = -1 }),
		"task b: retry: base is -1s, want more than 0":                                                   with(func(t *flow.Task) { t.Retry.Backoff.Base = -time.Second }),
		`task b: each.from: add "a" to needs`:                                                            with(func(t *flow.Task) { t.Each = &flow.Each{From: "a"} }),
		"task b: each: want one of list, glob and from, got 2":                                           with(func(t *flow.Task) { t.Each = &flow.Each{List: []string{"x"}, Glob: "*"} }),
		`task b c: name: "b c" has ' ': want letters`:                                                    with(func(t *flow.Task) { t.Name = "b c" }),
		"task a: name: there are two tasks with this name":                                               with(func(t *flow.Task) { t.Name = "a" }),
		"schedule: schedule's zone: unknown time zone Mars":                                              {Name: "d", Tasks: []flow.Task{good}, Schedule: &flow.Schedule{Cron: "0 0 * * *", Zone: "Mars"}},
		"pools: pool db has 0 slots, want at least 1":                                                    {Name: "d", Tasks: []flow.Task{good}, Pools: map[string]int{"db": 0}},
		"task x: needs: the tasks need each other in a circle: x needs z needs y needs x":                circle("x", "y", "z"),
		"task t0: needs: the tasks need each other in a circle: t0 needs t9999 needs t9998 needs t9997 ": circle(many(10_000)...),
	} {
		err := d.Validate()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %.300v\nwant %s", err, want)
			continue
		}
		if f := (*flow.Fault)(nil); !errors.As(err, &f) {
			t.Errorf("%v is no *Fault", err)
		}
	}
	if err := with(func(*flow.Task) {}).Validate(); err != nil {
		t.Error(err)
	}
}

// circle is a flow whose tasks each need the one before, and the first the last.
func circle(names ...string) flow.Definition {
	d := flow.Definition{Name: "d"}
	for k, name := range names {
		d.Tasks = append(d.Tasks, flow.Task{Name: name, Command: []string{"true"}, Needs: []string{names[(k+len(names)-1)%len(names)]}})
	}
	return d
}

func many(n int) (names []string) {
	for k := range n {
		names = append(names, fmt.Sprint("t", k))
	}
	return names
}

func TestParameters(t *testing.T) {
	d := flow.Definition{Name: "d", Tasks: []flow.Task{{Name: "a", Command: []string{"true"}}}, Params: []flow.Param{
		{Name: "day", Required: true}, {Name: "mode", Default: "full"},
	}}
	if got, err := d.Values(map[string]string{"day": "1"}); err != nil || got["day"] != "1" || got["mode"] != "full" {
		t.Errorf("%v, %v", got, err)
	}
	_, err := d.Values(map[string]string{"mode": strings.Repeat("x", flow.MaxValue+1), "dya": "1"})
	for _, want := range []string{"parameter day is missing", "parameter mode has 16385 bytes, more than 16384", `the flow has no parameter "dya"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if err := flow.CheckTemplate("{{.params.day"); err == nil {
		t.Error("a template without an end was taken")
	}
}

func TestTheBuildFollowsWhatTasksRun(t *testing.T) {
	d := flow.Definition{Name: "d", Tasks: []flow.Task{{Name: "a", Command: []string{"true"}}}}
	one := d.WithDefaults().Build
	d.Deadline = time.Hour
	if two := d.WithDefaults().Build; one == "" || two != one {
		t.Errorf("build %q, then %q: nothing that runs has changed", one, two)
	}
	d.Tasks[0].Command[0] = "false"
	if two := d.WithDefaults().Build; two == one {
		t.Errorf("build %q is that of another command", two)
	}
}

func TestConfigNamesItsFaults(t *testing.T) {
	_, err := flow.New(flow.Config{Slots: -1, Lease: time.Millisecond, Poll: time.Hour, Flows: []flow.Definition{{Name: "bad"}}})
	for _, want := range []string{"Store: missing", "Node: missing", "Slots: -1", "Lease: 1ms", "Poll: 1h", "Flows: bad: tasks"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestTheBuilderNamesFunctionsThatAreMissing(t *testing.T) {
	b := flow.Build("d").Param("day", "1").Pool("db", 2).Deadline(time.Hour).Every("0 4 * * *", "UTC")
	b.Task("a").Command("echo", "{{.params.day}}").Attempts(5).Timeout(time.Minute).PermitFailure()
	b.Task("b").Needs("a").Command("mail").Once("{{.run.date}}").With(func(t *flow.Task) { t.Pool = "db" })
	d, err := b.Definition()
	if err != nil || d.Tasks[1].Idempotent != "{{.run.date}}" || d.Pools["db"] != 2 || d.Tasks[0].Retry.Attempts != 5 {
		t.Errorf("%+v, %v", d, err)
	}
	b.Task("c").With(func(t *flow.Task) { t.Func = "nobody" })
	if _, err := b.Definition(); err == nil || !strings.Contains(err.Error(), "task c: there is no function nobody") {
		t.Errorf("error %v", err)
	}
}
