package template

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"text/template/parse"
)

// The bounds of an execution.
const (
	MaxBytes = 1 << 20
	MaxSteps = 5_000_000
	MaxDepth = 1000
)

// Funcs are functions that templates may call, by name. Each returns a value, or a value and an error.
type Funcs map[string]any

// Template is a parsed template. Executing it does not change it.
type Template struct {
	root  *parse.Tree
	trees map[string]*parse.Tree // by name of the definition
	funcs Funcs
}

// Parse parses a template. Functions that are neither in funcs nor built in are errors.
func Parse(text string, funcs Funcs) (*Template, error) {
	all := maps.Clone(builtins)
	maps.Copy(all, funcs)
	const name = ""
	trees, err := parse.Parse(name, text, "", "", all)
	if err != nil {
		return nil, err //nolint:wrapcheck // it says that it is of a template, and where
	}
	return &Template{root: trees[name], trees: trees, funcs: all}, nil
}

// Execute returns the text of the template for the data.
func (t *Template) Execute(data any) (text string, err error) {
	r := &run{Template: t, out: &strings.Builder{}, steps: new(int)}
	r.enter(t.root, data)
	defer func() {
		switch e := recover().(type) {
		case nil:
		case failure:
			text, err = "", e.err
		default:
			panic(e)
		}
	}()
	r.walk(data, t.root.Root)
	return r.out.String(), nil
}

// failure ends an execution.
type failure struct{ err error }

// variable is a variable of a template, such as $x.
type variable struct {
	name  string
	value any
}

// run is the execution of one definition.
type run struct {
	*Template
	tree  *parse.Tree
	at    parse.Node // what errors name
	vars  []variable // the innermost is the last
	depth int
	out   *strings.Builder
	steps *int // of all definitions
}

func (r *run) enter(tree *parse.Tree, dot any) {
	r.tree, r.at, r.vars = tree, tree.Root, []variable{{"$", dot}}
}

// fail ends the execution with an error in text/template's form.
func (r *run) fail(format string, args ...any) {
	location, context := r.tree.ErrorContext(r.at)
	panic(failure{fmt.Errorf("template: %s: executing %q at <%s>: %w", location, r.tree.Name, context, fmt.Errorf(format, args...))})
}

// signal says how a list of nodes ended.
type signal int

const (
	whole signal = iota
	broken
	continued
)

func (r *run) walk(dot any, n parse.Node) signal {
	r.at = n
	r.step()
	switch n := n.(type) {
	case *parse.ActionNode:
		if v := r.pipeline(dot, n.Pipe); len(n.Pipe.Decl) == 0 {
			r.at = n
			r.write(printed(v))
		}
	case *parse.TextNode:
		r.write(string(n.Text))
	case *parse.ListNode:
		for _, one := range n.Nodes {
			if s := r.walk(dot, one); s != whole {
				return s
			}
		}
	case *parse.IfNode:
		return r.branch(dot, &n.BranchNode, false)
	case *parse.WithNode:
		return r.branch(dot, &n.BranchNode, true)
	case *parse.RangeNode:
		return r.loop(dot, n)
	case *parse.TemplateNode:
		r.call(dot, n)
	case *parse.BreakNode:
		return broken
	case *parse.ContinueNode:
		return continued
	}
	return whole
}

func (r *run) step() {
	if *r.steps++; *r.steps > MaxSteps {
		r.fail("the template takes more than %d steps", MaxSteps)
	}
}

// printed formats a value as an action prints it.
func printed(v any) string {
	if v == nil {
		return "<no value>"
	}
	return fmt.Sprint(v)
}

func (r *run) write(s string) {
	if r.out.Len()+len(s) > MaxBytes {
		panic(failure{tooLong()})
	}
	r.out.WriteString(s)
}

func tooLong() error { return fmt.Errorf("the result is longer than %d bytes", MaxBytes) }

// branch executes an if or a with.
func (r *run) branch(dot any, n *parse.BranchNode, with bool) signal {
	defer r.forget(len(r.vars))
	v := r.pipeline(dot, n.Pipe)
	switch {
	case truth(v) && with:
		return r.walk(v, n.List)
	case truth(v):
		return r.walk(dot, n.List)
	case n.ElseList != nil:
		return r.walk(dot, n.ElseList)
	}
	return whole
}

func (r *run) loop(dot any, n *parse.RangeNode) signal {
	defer r.forget(len(r.vars))
	over := r.pipeline(dot, n.Pipe)
	mark, empty := len(r.vars), true
	body := func(index, elem any) (more bool) {
		empty = false
		r.iterate(n.Pipe, index, elem)
		s := r.walk(elem, n.List)
		r.forget(mark)
		return s != broken
	}
	switch v := reflect.ValueOf(over); v.Kind() {
	case reflect.Invalid:
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		if len(n.Pipe.Decl) > 1 {
			r.fail("can't use %v to iterate over more than one variable", over)
		}
		for i := range v.Seq() {
			if !body(nil, i.Interface()) {
				break
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if !body(i, v.Index(i).Interface()) {
				break
			}
		}
	case reflect.Map:
		for _, key := range r.keys(v) {
			if !body(key, v.MapIndex(reflect.ValueOf(key)).Interface()) {
				break
			}
		}
	default:
		r.fail("range can't iterate over %v", over)
	}
	if empty && n.ElseList != nil {
		return r.walk(dot, n.ElseList)
	}
	return whole
}

// keys returns the keys of a map in their order.
func (r *run) keys(m reflect.Value) (all []string) {
	if m.Type().Key() != reflect.TypeFor[string]() {
		r.fail("range can't iterate over a %s", m.Type())
	}
	for _, key := range m.MapKeys() {
		all = append(all, key.String())
	}
	slices.Sort(all)
	return all
}

// iterate sets the variables of a range. If there is one, it gets the element.
func (r *run) iterate(pipe *parse.PipeNode, index, elem any) {
	values := []any{elem}
	if len(pipe.Decl) > 1 {
		values = []any{index, elem}
	}
	for i := range pipe.Decl {
		if pipe.IsAssign {
			r.variable(pipe.Decl[i].Ident[0]).value = values[i]
		} else { // the pipeline has declared them
			r.vars[len(r.vars)-len(pipe.Decl)+i].value = values[i]
		}
	}
}

// call executes another definition, which has only its own variables.
func (r *run) call(dot any, n *parse.TemplateNode) {
	tree := r.trees[n.Name]
	if tree == nil {
		r.fail("template %q not defined", n.Name)
	}
	if r.depth == MaxDepth {
		r.fail("exceeded maximum template depth (%d)", MaxDepth)
	}
	dot = r.pipeline(dot, n.Pipe)
	inner := *r
	inner.depth++
	inner.enter(tree, dot)
	inner.walk(dot, tree.Root)
}

func (r *run) forget(mark int) { r.vars = r.vars[:mark] }

// variable returns the variable of a name. The parser has checked that there is one.
func (r *run) variable(name string) *variable {
	i := len(r.vars) - 1
	for i > 0 && r.vars[i].name != name {
		i--
	}
	return &r.vars[i]
}
