package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// graph is one graph of tasks, which is written for both programs.
type graph struct {
	name, what string
	tasks      []task
	result     string // a file that the tasks make, in the graph's folder; "": none
}

// task is a line for /bin/sh. It runs in the graph's folder.
type task struct {
	name, line string
	needs      []string
}

// ranFile gets the name of each task that ran.
const ranFile = "ran"

func graphs() []graph {
	return []graph{
		{name: "one", what: "a single task: the start of the program", tasks: wide(1)},
		{name: "wide", what: "300 tasks that need nothing", tasks: wide(300)},
		{name: "chain", what: "100 tasks, each needs the one before", tasks: chain(100)},
		{name: "fan", what: "10 times 30 tasks and one that joins them", tasks: fan(10, 30)},
		{name: "mixed", what: "16 files written, sorted and summed, and one report", tasks: mixed(16), result: "report"},
	}
}

func wide(n int) (all []task) {
	for i := range n {
		all = append(all, task{name: fmt.Sprintf("t%d", i)})
	}
	return all
}

func chain(n int) []task {
	all := wide(n)
	for i := 1; i < n; i++ {
		all[i].needs = []string{all[i-1].name}
	}
	return all
}

func fan(times, n int) (all []task) {
	var before []string
	for i := range times {
		join := task{name: fmt.Sprintf("join%d", i)}
		for k := range n {
			t := task{name: fmt.Sprintf("t%d-%d", i, k), needs: before}
			join.needs = append(join.needs, t.name)
			all = append(all, t)
		}
		all = append(all, join)
		before = []string{join.name}
	}
	return all
}

func mixed(n int) (all []task) {
	report := task{name: "report", line: "cat sum.* >report; wc -l <report"}
	for i := range n {
		write, sort, sum := fmt.Sprintf("write%d", i), fmt.Sprintf("sort%d", i), fmt.Sprintf("sum%d", i)
		all = append(all,
			task{name: write, line: fmt.Sprintf("seq -f %%.0f-%d 1 20000 >in.%d; wc -l <in.%d", i, i, i)},
			task{name: sort, line: fmt.Sprintf("LC_ALL=C sort -r in.%d >out.%d", i, i), needs: []string{write}},
			task{name: sum, line: fmt.Sprintf("cksum <out.%d >sum.%d; cat sum.%d", i, i, i), needs: []string{sort}})
		report.needs = append(report.needs, sum)
	}
	return append(all, report)
}

// script is what both programs give to the shell.
func (t task) script() string {
	if t.line == "" {
		return "echo " + t.name + " >>" + ranFile
	}
	return t.line + "; echo " + t.name + " >>" + ranFile
}

// forBezoar writes the graph as a flow of Bezoar.
func (g graph) forBezoar(dir string, slots int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "dir: %s\ntasks:\n", quoted(dir))
	for _, t := range g.tasks {
		fmt.Fprintf(&b, "  %s:\n    command: [/bin/sh, -e, -c, %s]\n", t.name, quoted(t.script()))
		if len(t.needs) > 0 {
			fmt.Fprintf(&b, "    needs: [%s]\n", strings.Join(t.needs, ", "))
		}
		b.WriteString("    pool: all\n")
	}
	fmt.Fprintf(&b, "pools: {all: %d}\n", slots)
	return b.String()
}

// forDagu writes the graph as a DAG of dagu.
func (g graph) forDagu(dir string, slots int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "type: graph\nmaxActiveSteps: %d\nshell: /bin/sh -e\nworkingDir: %s\nsteps:\n", slots, quoted(dir))
	for _, t := range g.tasks {
		fmt.Fprintf(&b, "  - name: %s\n    command: %s\n", t.name, quoted(t.script()))
		if len(t.needs) > 0 {
			fmt.Fprintf(&b, "    depends: [%s]\n", strings.Join(t.needs, ", "))
		}
	}
	return b.String()
}

// quoted is a JSON string, which YAML reads as well.
func quoted(text string) string {
	b, _ := json.Marshal(text) // a string always has a form
	return strings.NewReplacer(`\u003e`, ">", `\u003c`, "<", `\u0026`, "&").Replace(string(b))
}

// check returns an error unless each task ran exactly once, after all that it needs. It returns what the tasks made.
func (g graph) check(dir string) (made string, err error) {
	text, err := os.ReadFile(filepath.Join(dir, ranFile))
	if err != nil {
		return "", fmt.Errorf("no task ran: %w", err)
	}
	at := map[string]int{}
	lines := strings.Fields(string(text))
	for i, name := range lines {
		if _, again := at[name]; again {
			return "", fmt.Errorf("task %s ran more than once", name)
		}
		at[name] = i
	}
	for _, t := range g.tasks {
		i, ran := at[t.name]
		if !ran {
			return "", fmt.Errorf("task %s did not run", t.name)
		}
		if early := slices.IndexFunc(t.needs, func(need string) bool { return at[need] > i }); early >= 0 {
			return "", fmt.Errorf("task %s ran before %s", t.name, t.needs[early])
		}
	}
	if len(lines) != len(g.tasks) {
		return "", fmt.Errorf("%d tasks ran, want %d", len(lines), len(g.tasks))
	}
	if g.result == "" {
		return "", nil
	}
	result, err := os.ReadFile(filepath.Join(dir, g.result))
	if err != nil {
		return "", fmt.Errorf("the tasks made nothing: %w", err)
	}
	return string(result), nil
}
