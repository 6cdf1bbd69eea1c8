package flowdraw

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bezoar-dev/bezoar/flow"
)

// Look describes what is drawn for each task. Its zero value shows only the definition.
type Look struct {
	State func(task string) string // SUCCESS, RUNNING …; "": none
}

func (l Look) state(task string) string {
	if l.State == nil {
		return ""
	}
	return l.State(task)
}

// kind describes the kind of a task in a few words.
func kind(t *flow.Task) string {
	var what string
	switch {
	case t.Sensor != nil:
		what = "sensor"
	case t.Sift != nil:
		what = "sift"
	case t.Func != "":
		what = "function " + t.Func
	case len(t.Command) > 0:
		what = t.Command[0]
	}
	if t.Each != nil {
		what += ", for each item"
	}
	if t.SideEffect {
		what += ", once"
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, what)
}

// Text draws a tree. Each task appears once, below the last of its needs; the line names its other needs.
func Text(d flow.Definition, look Look) string {
	g := newGraph(&d)
	below := make([][]int, len(d.Tasks))
	var roots []int
	for i := range d.Tasks {
		if parent := g.last(i); parent < 0 {
			roots = append(roots, i)
		} else {
			below[parent] = append(below[parent], i)
		}
	}
	var b strings.Builder
	b.WriteString(d.Name + "\n")
	type entry struct {
		task   int
		indent string
		last   bool
	}
	var stack []entry
	push := func(all []int, indent string) {
		for k, task := range slices.Backward(all) {
			stack = append(stack, entry{task, indent, k == len(all)-1})
		}
	}
	push(roots, "")
	for len(stack) > 0 {
		e := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		branch, more := "├─ ", "│  "
		if e.last {
			branch, more = "└─ ", "   "
		}
		fmt.Fprintf(&b, "%s%s%s\n", e.indent, branch, g.line(e.task, look))
		push(below[e.task], e.indent+more)
	}
	return b.String()
}

func (g *graph) line(i int, look Look) string {
	t := &g.d.Tasks[i]
	text := t.Name
	if state := look.state(t.Name); state != "" {
		text += "  " + state
	}
	if what := kind(t); what != "" {
		text += "  (" + what + ")"
	}
	var also []string
	for _, n := range g.needs[i] {
		if n != g.last(i) {
			also = append(also, g.d.Tasks[n].Name)
		}
	}
	if len(also) > 0 {
		text += "  also needs " + strings.Join(also, ", ")
	}
	return text
}

// Mermaid returns a chart for Mermaid.
func Mermaid(d flow.Definition, look Look) string {
	g := newGraph(&d)
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	for i := range d.Tasks {
		t := &d.Tasks[i]
		left, right := "[", "]"
		switch {
		case t.Sensor != nil:
			left, right = "{{", "}}"
		case t.SideEffect:
			left, right = "([", "])"
		case t.Each != nil:
			left, right = "[[", "]]"
		}
		text := mermaidText(t.Name)
		if state := look.state(t.Name); state != "" {
			text += "<br/>" + mermaidText(state)
		}
		fmt.Fprintf(&b, "  t%d%s\"%s\"%s\n", i, left, text, right)
	}
	for i, needs := range g.needs {
		for _, n := range needs {
			fmt.Fprintf(&b, "  t%d --> t%d\n", n, i)
		}
	}
	return b.String()
}

// mermaidText escapes everything except letters, digits and a few signs.
func mermaidText(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(" -_.", r) {
			b.WriteRune(r)
			continue
		}
		fmt.Fprintf(&b, "#%d;", r)
	}
	return b.String()
}
