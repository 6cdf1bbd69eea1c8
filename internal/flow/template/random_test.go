package template_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar/internal/flow/template"
)

// author writes random templates. Nearly all can be parsed, and many can be executed.
type author struct {
	*rapid.T
	vars   int // $v0 to $v(vars-1) are declared
	loops  int
	inside int // of loops and others that change the dot
}

func (a *author) pick(of ...string) string { return rapid.SampledFrom(of).Draw(a.T, "") }
func (a *author) dice(sides int) int       { return rapid.IntRange(0, sides-1).Draw(a.T, "") }

// value writes an argument. Few do not exist.
func (a *author) value(deep int) string {
	if deep > 2 {
		return a.pick("1", `"a"`, ".", ".index", "nil")
	}
	switch a.dice(24) {
	case 0, 1, 2, 3:
		return "(" + a.pipeline(deep+1) + ")"
	case 4:
		return "(" + a.pipeline(deep+1) + ")" + a.pick(".id", ".Year", ".day", ".nosuch")
	case 5:
		return a.pick(".nosuch", ".params.nosuch", ".id", ".outputs", ".Year", ".output")
	case 6, 7, 8:
		return "$" + a.pick("", ".item", ".run.time")
	case 9, 10, 11, 12:
		if a.vars > 0 {
			return fmt.Sprintf("$v%d%s", a.dice(a.vars), a.pick("", "", "", "", "", "", "", "", ".id"))
		}
	case 13, 14, 15:
		return a.pick("0", "1", "-1", "2", "1.5", "'a'", "0x1F", "2i", "true", "false", `""`, `"a"`, `"two"`, `"a-b"`, `"2006"`, "nil", "3600000000000")
	case 16:
		return "."
	}
	return a.dot() + a.pick(".item", ".index", ".env", ".params", ".params.day", ".params.empty", ".run", ".run.time", ".run.early", ".run.time.Year", ".run.time.Month",
		".run.time.Location", ".tasks", ".tasks.none.outputs", ".other", ".map", ".yes", ".no", ".uint", ".float", ".far")
}

// dot is empty where the dot is probably the data.
func (a *author) dot() string {
	if a.inside == 0 {
		return ""
	}
	return a.pick("$", "$", "$", "$", "$", "")
}

func (a *author) command(deep int) string {
	switch a.dice(8) {
	case 0, 1:
		return a.value(deep)
	case 2, 3, 4: // takes any values
		return a.pick("print", "println", "html", "js", "urlquery", "and", "or", `printf "%v %v"`) + " " + a.value(deep) + " " + a.value(deep)
	case 5:
		return a.pick("not", "json", "len", `printf "%T"`, `printf "%q"`, "eq nil", "index .other", "index .params", "index .tasks", "lower", "lines") + " " + a.value(deep)
	}
	out := a.pick("index", "slice", "len", `printf "%d %s"`, "eq", "ne", "lt", "le", "gt", "ge", "and", "or", "not", "call", "join", "date", "times",
		"$.run.time.Format", "$.run.time.AddDate", "$.run.time.Add", "$.run.time.Sub", "$.run.time.After", "$.item")
	for range a.dice(4) {
		out += " " + a.value(deep)
	}
	return out
}

func (a *author) pipeline(deep int) string {
	out := a.command(deep)
	for a.dice(10) == 0 {
		out += " | " + a.command(deep)
	}
	return out
}

// body writes nodes, and forgets the variables that they declare.
func (a *author) body(deep int) string {
	vars, out := a.vars, ""
	for range 1 + a.dice(3) {
		out += a.node(deep)
	}
	a.vars = vars
	return out
}

func (a *author) node(deep int) string {
	open, end := a.pick("{{", "{{", "{{- "), a.pick("}}", "}}", " -}}")
	action := func(s string) string { return open + s + end }
	kind := a.dice(13)
	if deep > 2 {
		kind = min(kind, 4)
	}
	switch kind {
	case 0:
		return a.pick("text", " ", "\n", "a {{/* comment */}} b")
	case 4:
		name := fmt.Sprintf("$v%d", a.vars)
		out := action(name + " := " + a.pipeline(0))
		a.vars++
		return out
	case 5:
		if a.vars > 0 {
			return action(fmt.Sprintf("$v%d = %s", a.dice(a.vars), a.pipeline(0)))
		}
	case 6, 7:
		a.inside++
		defer func() { a.inside-- }()
		return action(a.pick("if ", "with ")+a.pipeline(0)) + a.body(deep+1) + a.otherwise(deep) + "{{end}}"
	case 8, 9:
		return a.loop(deep)
	case 10:
		return action("template " + a.pick(`"T"`, `"T"`, `"T"`, `"T"`, `"nosuch"`) + a.pick("", " $", " $", " .", " "+a.value(0)))
	case 11:
		if a.loops > 0 {
			return action(a.pick("break", "continue"))
		}
	}
	return action(a.pipeline(0))
}

func (a *author) otherwise(deep int) string {
	switch a.dice(3) {
	case 0:
		return "{{else}}" + a.body(deep+1)
	case 1:
		return "{{else if " + a.pipeline(0) + "}}" + a.body(deep+1)
	}
	return ""
}

func (a *author) loop(deep int) string {
	vars := a.vars
	over := a.pick(".other", ".params", ".tasks.none.outputs", ".run", "3", ".index", ".env", ".map", "(lines .item)", a.pipeline(0))
	head := ""
	switch a.dice(3) {
	case 0:
		head = fmt.Sprintf("$v%d := ", a.vars)
		a.vars++
	case 1:
		head = fmt.Sprintf("$v%d, $v%d := ", a.vars, a.vars+1)
		a.vars += 2
	}
	a.loops++
	a.inside++
	out := "{{range " + head + over + "}}" + a.body(deep+1)
	a.loops--
	a.inside--
	a.vars = vars
	if a.dice(3) == 0 {
		out += "{{else}}" + a.body(deep+1)
	}
	return out + "{{end}}"
}

// alike fails if a template means something else to text/template. It reports whether it could be executed.
func alike(t testing.TB, text string) bool {
	t.Helper()
	if ours, err := template.Parse(text, funcs()); err == nil {
		if _, err = ours.Execute(data()); err != nil && (strings.Contains(err.Error(), "steps") || strings.Contains(err.Error(), "longer than") || strings.Contains(err.Error(), "depth")) {
			return false // text/template may take forever
		}
	}
	got, want, err, wantErr := both(t, text)
	if wantErr != nil && strings.HasSuffix(wantErr.Error(), " interface {}") {
		return err == nil // text/template's slice refuses an index, and functions a nil, only because it comes from a map of any values
	}
	if (err != nil) != (wantErr != nil) || got != want {
		t.Fatalf("%s\n  here %q, %v\n  text/template %q, %v", text, got, err, want, wantErr)
	}
	return err == nil
}

// Random templates mean what they mean to text/template.
func TestRandomTemplates(t *testing.T) {
	tried, fine := 0, 0
	rapid.Check(t, func(g *rapid.T) {
		a := &author{T: g, inside: 1}
		definition := `{{define "T"}}<` + a.body(1) + ">{{end}}"
		a.vars, a.inside = 0, 0
		tried++
		if alike(t, definition+a.body(0)) {
			fine++
		}
	})
	if fine*20 < tried {
		t.Errorf("only %d of %d templates could be executed", fine, tried)
	}
}

func FuzzTemplate(f *testing.F) {
	for _, text := range []string{"{{.item}}", `{{range $i, $v := .other}}{{$i}}{{else}}{{end}}`, `{{define "T"}}{{.}}{{end}}{{template "T" .run.time.Year | printf "%d"}}`, `{{with index .tasks "a-b"}}{{.output}}{{end}}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		alike(t, text)
	})
}

// An error of a function can be recognised.
func TestErrorsOfFunctionsAreKept(t *testing.T) {
	mine := errors.New("mine")
	tmpl, err := template.Parse("{{fails}}", template.Funcs{"fails": func() (string, error) { return "", mine }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = tmpl.Execute(nil); !errors.Is(err, mine) {
		t.Errorf("got %v", err)
	}
}
