package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bezoar-dev/bezoar/internal/flow/flowapi"
	"github.com/bezoar-dev/bezoar/internal/sorted"
	"github.com/bezoar-dev/bezoar/policy/task"
)

// shapeOf returns a mark by which states differ even without colour.
func shapeOf(s task.State) (shape, style string) {
	switch s {
	case task.Success:
		return "✔", green
	case task.Running:
		return "▶", cyan
	case task.Ready:
		return "○", ""
	case task.Retrying:
		return "↻", yellow
	case task.Sensing:
		return "◔", cyan
	case task.Interrupted:
		return "◌", yellow
	case task.DeadLetter:
		return "✖", loud
	case task.Held:
		return "‖", yellow
	case task.Failed:
		return "✗", red
	case task.UpstreamFailed:
		return "⊗", red
	case task.Skipped:
		return "↷", dim
	case task.Cancelled:
		return "⊘", dim
	default:
		return "·", dim
	}
}

// branch is one task in the tree, below the last of the tasks that it needs.
type branch struct {
	t      *flowapi.Task
	prefix string   // of its lines
	also   []string // other tasks that it needs
}

// branches orders tasks as a tree. Every task occurs once.
func branches(tasks []flowapi.Task) []branch {
	depth := depths(tasks)
	below := map[string][]*flowapi.Task{}
	also := map[string][]string{}
	for i := range tasks {
		t, parent := &tasks[i], ""
		for _, n := range t.Needs {
			if parent == "" || depth[n] > depth[parent] {
				parent = n
			}
		}
		for _, n := range t.Needs {
			if n != parent {
				also[t.Name] = append(also[t.Name], n)
			}
		}
		below[parent] = append(below[parent], t)
	}
	out := make([]branch, 0, len(tasks))
	type step struct {
		t        *flowapi.Task
		own, sub string
	}
	var stack []step
	push := func(parent, indent string) {
		all := below[parent]
		for i, t := range slices.Backward(all) {
			own, sub := "", ""
			switch last := i == len(all)-1; {
			case parent == "":
			case last:
				own, sub = indent+"└─ ", indent+"   "
			default:
				own, sub = indent+"├─ ", indent+"│  "
			}
			stack = append(stack, step{t, own, sub})
		}
	}
	push("", "")
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		out = append(out, branch{at.t, at.own, also[at.t.Name]})
		push(at.t.Name, at.sub)
	}
	return out
}

// depths returns for each task the length of the longest path to it.
func depths(tasks []flowapi.Task) map[string]int {
	by := make(map[string]*flowapi.Task, len(tasks))
	for i := range tasks {
		by[tasks[i].Name] = &tasks[i]
	}
	out := make(map[string]int, len(tasks))
	var of func(name string) int
	of = func(name string) int {
		if d, ok := out[name]; ok {
			return d
		}
		out[name] = 0 // there are no cycles, but one would end here
		d := 0
		if t := by[name]; t != nil {
			for _, n := range t.Needs {
				d = max(d, of(n)+1)
			}
		}
		out[name] = d
		return d
	}
	for i := range tasks {
		of(tasks[i].Name)
	}
	return out
}

// treeOf draws a run in at most rows lines; 0 means no limit.
func treeOf(p *printer, r *flowapi.Run, now time.Time, rows int) []string {
	lines := []string{runLine(p, r, now)}
	all := branches(r.Tasks)
	shown, left := all, map[task.State]int{}
	if rows > 0 && len(all) > rows-2 {
		shown, left = fewer(all, max(1, rows-2))
	}
	wide := 0
	for _, b := range shown {
		wide = max(wide, utf8.RuneCountInString(b.prefix)+min(utf8.RuneCountInString(clean(b.t.Name)), 40))
	}
	for _, b := range shown {
		lines = append(lines, branchLine(p, b, wide, now))
	}
	if len(shown) < len(all) {
		lines = append(lines, p.paint(dim, fmt.Sprintf("  … %d more: %s", len(all)-len(shown), counts(left))))
	}
	return lines
}

// fewer picks n tasks: those that need attention first.
func fewer(all []branch, n int) (shown []branch, left map[task.State]int) {
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	sorted.StableFunc(order, func(a, b int) int { return cmp.Compare(interest(all[a].t.State), interest(all[b].t.State)) })
	keep := slices.Clone(order[:n])
	slices.Sort(keep)
	left = map[task.State]int{}
	for _, i := range order[n:] {
		left[all[i].t.State]++
	}
	for _, i := range keep {
		b := all[i]
		b.prefix = "" // its parents may be left out
		shown = append(shown, b)
	}
	return shown, left
}

func interest(s task.State) int {
	switch s {
	case task.DeadLetter, task.Failed:
		return 0
	case task.Running, task.Retrying, task.Sensing, task.Interrupted:
		return 1
	case task.Ready, task.Held, task.UpstreamFailed, task.Cancelled:
		return 2
	case task.Pending:
		return 3
	default:
		return 4
	}
}

func runLine(p *printer, r *flowapi.Run, now time.Time) string {
	head := fmt.Sprintf("run %s  %s  %s  %s", r.ID, p.paint(bold, clean(r.Flow)), p.paint(runStyle(r.State), string(r.State)), lasted(r.Created, r.Ended, now))
	if r.Left > 0 {
		head += ", about " + length(time.Duration(r.Left)) + " left"
	}
	if !r.Deadline.IsZero() && !r.Over() {
		head += ", deadline " + until(now, r.Deadline)
	}
	if p.width != nil {
		head = cutPainted(head, p.width())
	}
	return head
}

func branchLine(p *printer, b branch, wide int, now time.Time) string {
	t := b.t
	shape, style := shapeOf(t.State)
	name := cut(clean(t.Name), 40)
	pad := strings.Repeat(" ", max(0, wide-utf8.RuneCountInString(b.prefix)-utf8.RuneCountInString(name)))
	line := b.prefix + p.paint(style, shape) + " " + name + pad + "  " + p.paint(style, fmt.Sprintf("%-15s", t.State))
	took := ""
	if !t.First.IsZero() {
		took = lasted(t.First, t.Ended, now)
	}
	line += fmt.Sprintf(" %7s", took)
	if note := noteOf(t, b.also, now); note != "" {
		line += "  " + note
	}
	if p.width != nil {
		line = cutPainted(line, p.width())
	}
	return strings.TrimRight(line, " ")
}

// longestNote bounds a reason in the tree; writeFailed prints complete reasons.
const longestNote = 72

func noteOf(t *flowapi.Task, also []string, now time.Time) string {
	var notes []string
	why, total := t.Why, 0
	for _, n := range t.Counts {
		total += n
	}
	if t.Each && total > 0 && (total > 1 || len(t.Instances) > 0 && t.Instances[0].Index >= 0) {
		notes = append(notes, counts(t.Counts))
	}
	if len(t.Instances) == 1 {
		in := &t.Instances[0]
		if in.Attempts > 1 {
			notes = append(notes, fmt.Sprintf("attempt %d", in.Attempts))
		}
		if !in.NextAt.IsZero() && (t.State == task.Retrying || t.State == task.Sensing || t.State == task.Interrupted) {
			notes = append(notes, "next "+until(now, in.NextAt))
			if _, rest, ok := strings.Cut(why, ", "); ok && strings.HasPrefix(why, "again in ") {
				why = rest // when is said already, and goes on
			}
		}
	}
	if why != "" && t.State != task.Success {
		notes = append(notes, cut(clean(why), longestNote))
	}
	if len(also) > 0 && t.State == task.Pending {
		notes = append(notes, "needs also "+clean(strings.Join(also, ", ")))
	}
	return strings.Join(notes, "; ")
}

// counts formats how many instances are in each state.
func counts(by map[task.State]int) string {
	var out []string
	for _, s := range task.States() {
		if by[s] > 0 {
			out = append(out, fmt.Sprintf("%s %s", grouped(by[s]), s))
		}
	}
	return strings.Join(out, ", ")
}

// cutPainted shortens a line to n columns and keeps the styles complete.
func cutPainted(line string, n int) string {
	if visible(line) <= n {
		return line
	}
	var b strings.Builder
	at, escape := 0, false
	for _, r := range line {
		switch {
		case r == '\x1b':
			escape = true
		case escape:
			escape = r != 'm'
		case at == n-1:
			b.WriteString("…")
			at++
			continue
		case at >= n:
			continue
		default:
			at++
		}
		b.WriteRune(r)
	}
	return b.String()
}

// visible counts columns without styles.
func visible(line string) int {
	n, escape := 0, false
	for _, r := range line {
		switch {
		case r == '\x1b':
			escape = true
		case escape:
			escape = r != 'm'
		default:
			n++
		}
	}
	return n
}
