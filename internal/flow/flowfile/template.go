package flowfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template/parse"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/each"
)

func (c *checker) templates(d *flow.Definition) {
	params := each.Of(d.Params, func(p flow.Param) string { return p.Name })
	for _, name := range slices.Sorted(maps.Keys(d.Env)) {
		// All tasks use the flow's environment: its templates may use names that all tasks have.
		c.template(scope{params: params}, config.Path("env", name), d.Env[name].Text)
	}
	for i := range d.Tasks {
		c.taskTemplates(scope{params: params, needs: d.Tasks[i].Needs, item: d.Tasks[i].Each != nil, task: true}, &d.Tasks[i])
	}
}

func (c *checker) taskTemplates(s scope, t *flow.Task) {
	path := config.Path("tasks", t.Name)
	list := func(field string, s scope, all []string) {
		for i, text := range all {
			c.template(s, fmt.Sprintf("%s.%s[%d]", path, field, i), text)
		}
	}
	one := func(field, text string) { c.template(s, path+"."+field, text) }
	list("command", s, t.Command)
	for _, name := range slices.Sorted(maps.Keys(t.Env)) {
		c.template(s, config.Path(path+".env", name), t.Env[name].Text)
	}
	one("stdin", t.Stdin)
	one("dir", t.Dir)
	one("concurrency_key", t.Key)
	one("idempotency_key", t.Idempotent)
	if e := t.Each; e != nil {
		before := s
		before.item = false // the items are not known yet
		list("each.list", before, e.List)
		c.template(before, path+".each.glob", e.Glob)
	}
	if n := t.Sensor; n != nil {
		list("sensor.command", s, n.Command)
		one("sensor.file", n.File)
		one("sensor.http", n.HTTP)
		one("sensor.sql", n.SQL)
		one("sensor.dsn", n.DSN.Text)
	}
	if n := t.Sift; n != nil {
		list("sift.command", s, n.Command)
		one("sift.rows", n.Rows)
	}
}

// scope holds the names that a template may use.
type scope struct {
	params []string
	needs  []string
	item   bool // the task has items
	task   bool // the template belongs to a task, not to the flow
}

func (c *checker) template(s scope, path, text string) {
	if !strings.Contains(text, "{{") {
		return
	}
	if err := flow.CheckTemplate(text); err != nil {
		c.add(path, "is not a template: "+strings.TrimPrefix(err.Error(), "template: :"), s.hint(text, err))
		return
	}
	tree := parse.New("")
	tree.Mode = parse.SkipFuncCheck
	if _, err := tree.Parse(text, "", "", map[string]*parse.Tree{}); err != nil {
		c.add(path, "is not a template: "+err.Error(), "correct it")
		return
	}
	w := &walker{scope: s}
	w.walk(tree.Root, true)
	for _, f := range w.faults {
		c.add(path, f.Problem, f.Fix)
	}
}

// functions names the functions that templates have beside Go's.
const functions = "date, join, json, lines, lower, replace, trim, upper"

// hint suggests a correction for a template that cannot be parsed.
func (s scope) hint(text string, err error) string {
	for _, need := range s.needs {
		if strings.Contains(text, ".tasks."+need) && strings.Trim(need, "-.") != "" && strings.ContainsAny(need, "-.") {
			return fmt.Sprintf("a name with - or . is written (index .tasks %q).output", need)
		}
	}
	if strings.Contains(err.Error(), " not defined") {
		return "use " + functions + ", or a function of Go's templates"
	}
	return "write {{ .params.NAME }}, {{ .item }}, {{ .run.date }} or {{ .tasks.NAME.output }}"
}

// walker checks the names in a template.
type walker struct {
	scope
	faults []config.Fault
}

func (w *walker) fault(problem, fix string) {
	w.faults = append(w.faults, config.Fault{Problem: problem, Fix: fix})
}

// walk checks a node and all nodes below it. root: the dot is the template's data.
func (w *walker) walk(n parse.Node, root bool) {
	switch n := n.(type) {
	case *parse.ListNode:
		if n != nil {
			for _, one := range n.Nodes {
				w.walk(one, root)
			}
		}
	case *parse.ActionNode:
		w.pipe(n.Pipe, root)
	case *parse.IfNode:
		w.branch(&n.BranchNode, root, root)
	case *parse.RangeNode:
		w.branch(&n.BranchNode, root, false)
	case *parse.WithNode:
		w.branch(&n.BranchNode, root, false)
	case *parse.PipeNode:
		w.pipe(n, root)
	case *parse.FieldNode:
		if root {
			w.name(n.Ident)
		}
	case *parse.VariableNode:
		if n.Ident[0] == "$" {
			w.name(n.Ident[1:])
		}
	case *parse.ChainNode:
		w.walk(n.Node, root)
	}
}

func (w *walker) branch(n *parse.BranchNode, root, inside bool) {
	w.pipe(n.Pipe, root)
	w.walk(n.List, inside)
	w.walk(n.ElseList, root)
}

func (w *walker) pipe(n *parse.PipeNode, root bool) {
	if n == nil {
		return
	}
	for _, cmd := range n.Cmds {
		if ident := w.indexed(cmd, root); ident != nil {
			w.name(ident)
			continue
		}
		for _, arg := range cmd.Args {
			w.walk(arg, root)
		}
	}
}

// indexed returns the name that (index .tasks "name") refers to; nil for other expressions.
func (w *walker) indexed(cmd *parse.CommandNode, root bool) []string {
	if len(cmd.Args) < 3 {
		return nil
	}
	if f, ok := cmd.Args[0].(*parse.IdentifierNode); !ok || f.Ident != "index" {
		return nil
	}
	var ident []string
	switch of := cmd.Args[1].(type) {
	case *parse.FieldNode:
		if !root {
			return nil
		}
		ident = slices.Clone(of.Ident)
	case *parse.VariableNode:
		if of.Ident[0] != "$" {
			return nil
		}
		ident = slices.Clone(of.Ident[1:])
	default:
		return nil
	}
	for _, arg := range cmd.Args[2:] {
		s, ok := arg.(*parse.StringNode)
		if !ok {
			break // a number, or a value known only later
		}
		ident = append(ident, s.Text)
	}
	return ident
}

// name checks a name such as params.day or tasks.fetch.output.
func (w *walker) name(ident []string) {
	if len(ident) == 0 {
		return
	}
	top := []string{"params", "item", "index", "run", "tasks"}
	switch ident[0] {
	case "params":
		w.member(ident, w.params, "the flow has no parameter %s", "add it to params")
	case "run":
		w.member(ident, []string{"id", "flow", "due", "date", "time"}, "a run has no %s", "write id, flow, due, date or time")
	case "item":
		if w.task && !w.item {
			w.fault("names .item, and the task has no items here", "add each to the task, or remove it")
		}
	case "index":
	case "tasks":
		if !w.task {
			w.fault("names a task, and the environment of the flow is that of all tasks", "write it into the env of the task")
			return
		}
		if w.member(ident, w.needs, "the task does not need %s", "add it to needs: its output has to be there first") && len(ident) > 2 {
			w.member(ident[1:], []string{"output", "outputs"}, "a task has no %s", "write output, or outputs for the list of all")
		}
	default:
		fix := "write ." + strings.Join(top, ", .")
		if near := config.Nearest(ident[0], top); near != "" {
			fix = "did you mean ." + near + "?"
		}
		w.fault("there is no ."+config.Quoted(ident[0]), fix)
	}
}

// member checks the second part of a name. It reports whether that is known or missing.
func (w *walker) member(ident, known []string, problem, fix string) bool {
	if len(ident) < 2 || slices.Contains(known, ident[1]) {
		return true
	}
	if near := config.Nearest(ident[1], known); near != "" {
		fix = "did you mean " + near + "?"
	}
	w.fault(fmt.Sprintf(problem, config.Quoted(ident[1])), fix)
	return false
}
