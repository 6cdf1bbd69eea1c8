package flowdraw

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/flow"
)

func sample() flow.Definition {
	return flow.Definition{Name: "orders", Tasks: []flow.Task{
		{Name: "wait", Sensor: &flow.Sensor{File: "x"}},
		{Name: "fetch", Needs: []string{"wait"}, Command: []string{"curl"}},
		{Name: "load", Needs: []string{"fetch"}, Command: []string{"python3"}, Each: &flow.Each{From: "fetch"}},
		{Name: "check", Command: []string{"./check"}},
		{Name: "mail", Needs: []string{"check", "load"}, Command: []string{"mail"}, SideEffect: true},
	}}
}

func TestText(t *testing.T) {
	got := Text(sample(), Look{State: func(task string) string {
		if task == "fetch" {
			return "RUNNING"
		}
		return ""
	}})
	want := `orders
├─ wait  (sensor)
│  └─ fetch  RUNNING  (curl)
│     └─ load  (python3, for each item)
│        └─ mail  (mail, once)  also needs check
└─ check  (./check)
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestMermaid(t *testing.T) {
	got := Mermaid(sample(), Look{State: func(string) string { return "<b>" }})
	for _, want := range []string{"flowchart LR\n", "  t0{{\"wait<br/>#60;b#62;\"}}\n", "  t2[[\"load", "  t4([\"mail", "  t2 --> t4\n", "  t3 --> t4\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("it has no %q:\n%s", want, got)
		}
	}
}

// Boxes do not overlap, lines lead to the right from task to task, and nothing is
// outside: for flows of all kinds.
func TestLayout(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for round := range 60 {
		d := flow.Definition{Name: "x"}
		n := 1 + rng.IntN(60)
		for i := range n {
			task := flow.Task{Name: fmt.Sprintf("task-%d", i), Command: []string{"x"}}
			for range rng.IntN(4) {
				if i > 0 {
					task.Needs = append(task.Needs, fmt.Sprintf("task-%d", rng.IntN(i)))
				}
			}
			d.Tasks = append(d.Tasks, task)
		}
		l, err := Place(d)
		if err != nil {
			t.Fatal(err)
		}
		boxes := map[string]Box{}
		for i, a := range l.Boxes {
			boxes[a.Task] = a
			if a.X < 0 || a.Y < 0 || a.X+a.W > l.W || a.Y+a.H > l.H {
				t.Fatalf("round %d: %+v is outside %.0f×%.0f", round, a, l.W, l.H)
			}
			for _, b := range l.Boxes[:i] {
				if a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H-0.01 && b.Y < a.Y+a.H-0.01 {
					t.Fatalf("round %d: %+v and %+v overlap", round, a, b)
				}
			}
		}
		lines := 0
		for _, task := range d.Tasks {
			seen := map[string]bool{}
			for _, need := range task.Needs {
				if !seen[need] {
					seen[need] = true
					lines++
				}
			}
		}
		if len(l.Lines) != lines {
			t.Fatalf("round %d: %d lines, want %d", round, len(l.Lines), lines)
		}
		for _, line := range l.Lines {
			from, to := boxes[line.From], boxes[line.To]
			first, last := line.Points[0], line.Points[len(line.Points)-1]
			if first != (Point{from.X + from.W, from.Y + from.H/2}) || last != (Point{to.X, to.Y + to.H/2}) {
				t.Fatalf("round %d: line %+v from %+v to %+v", round, line, from, to)
			}
			for i, p := range line.Points[1:] {
				if p.X < line.Points[i].X {
					t.Fatalf("round %d: line %+v leads to the left", round, line)
				}
			}
		}
	}
}

// A drawing is XML whatever the names are.
func TestSVG(t *testing.T) {
	d := sample()
	d.Name = `<script>alert("1")</script>`
	d.Tasks[1].Name = `a"><b onload='x'>` + "\x00&"
	b, err := SVG(d, Look{State: func(string) string { return "</text>" }})
	if err != nil {
		t.Fatal(err)
	}
	in := xml.NewDecoder(strings.NewReader(string(b)))
	for {
		token, err := in.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok && !strings.Contains(" svg title defs marker path g rect text ", " "+e.Name.Local+" ") {
			t.Errorf("it has an element %s", e.Name.Local)
		}
	}
}

func TestWhatCannotBeDrawn(t *testing.T) {
	d := flow.Definition{Name: "x"}
	for i := range MaxDrawn + 1 {
		d.Tasks = append(d.Tasks, flow.Task{Name: fmt.Sprint(i)})
	}
	if _, err := SVG(d, Look{}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("error %v", err)
	}
	circle := flow.Definition{Name: "x", Tasks: []flow.Task{{Name: "a", Needs: []string{"b"}}, {Name: "b", Needs: []string{"a", "gone"}}}}
	if got := Text(circle, Look{}); got != "x\n├─ a\n└─ b\n" {
		t.Errorf("a circle: %q", got)
	}
	if _, err := SVG(circle, Look{}); err != nil {
		t.Error(err)
	}
	if _, err := SVG(flow.Definition{Name: "x"}, Look{}); err != nil {
		t.Error(err)
	}
}
