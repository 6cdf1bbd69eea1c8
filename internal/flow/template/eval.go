package template

import (
	"fmt"
	"reflect"
	"strings"
	"text/template/parse"
)

// missing stands for the value of a pipeline that has none yet.
type missing struct{}

// pipeline returns the value of a pipeline, and sets its variables.
func (r *run) pipeline(dot any, n *parse.PipeNode) any {
	if n == nil {
		return nil
	}
	r.at = n
	var v any = missing{}
	for _, cmd := range n.Cmds {
		v = r.command(dot, cmd.Args[0], cmd, cmd.Args, v)
	}
	for _, d := range n.Decl {
		if n.IsAssign {
			r.variable(d.Ident[0]).value = v
		} else {
			r.vars = append(r.vars, variable{d.Ident[0], v})
		}
	}
	return v
}

// command evaluates a command of a pipeline: n with the arguments args[1:] and last, the value of the command before it. at
// is what errors of functions name.
func (r *run) command(dot any, n, at parse.Node, args []parse.Node, last any) any {
	r.step()
	switch n := n.(type) {
	case *parse.FieldNode:
		r.at = n
		return r.fields(dot, dot, n, n.Ident, args, last)
	case *parse.ChainNode:
		r.at = n
		return r.fields(dot, r.argument(dot, nil, n.Node), n, n.Field, args, last)
	case *parse.VariableNode:
		r.at = n
		v := r.variable(n.Ident[0])
		if len(n.Ident) > 1 {
			return r.fields(dot, v.value, n, n.Ident[1:], args, last)
		}
		r.noArguments(args, last)
		return v.value
	case *parse.IdentifierNode:
		r.at = n
		return r.function(dot, n.Ident, at, args, last)
	case *parse.PipeNode:
		r.noArguments(args, last)
		return r.pipeline(dot, n)
	}
	r.at = n
	r.noArguments(args, last)
	return r.literal(dot, n)
}

func (r *run) noArguments(args []parse.Node, last any) {
	if len(args) > 1 || last != (missing{}) {
		r.fail("can't give argument to non-function %s", args[0])
	}
}

// literal returns the value of the dot or a constant where nothing says which type is wanted.
func (r *run) literal(dot any, n parse.Node) any {
	switch n := n.(type) {
	case *parse.DotNode:
		return dot
	case *parse.BoolNode:
		return n.True
	case *parse.StringNode:
		return n.Text
	case *parse.NumberNode:
		r.at = n
		return r.number(n)
	case *parse.NilNode:
		r.fail("nil is not a command")
	}
	r.fail("can't evaluate command %q", n)
	return nil
}

// number returns a constant in the type that its form suggests.
func (r *run) number(n *parse.NumberNode) any {
	lower := strings.ToLower(n.Text)
	hex, char := strings.HasPrefix(lower, "0x") && !strings.Contains(lower, "p"), strings.HasPrefix(lower, "'")
	switch {
	case n.IsComplex:
		return n.Complex128
	case n.IsFloat && !hex && !char && strings.ContainsAny(lower, ".ep"):
		return n.Float64
	case n.IsInt && int64(int(n.Int64)) == n.Int64:
		return int(n.Int64)
	}
	r.fail("%s overflows int", n.Text)
	return nil
}

// fields follows names from a value: .a.b.c. The last one gets the arguments.
func (r *run) fields(dot, of any, n parse.Node, names []string, args []parse.Node, last any) any {
	end := len(names) - 1
	for _, name := range names[:end] {
		of = r.field(dot, of, n, name, nil, missing{})
	}
	return r.field(dot, of, n, names[end], args, last)
}

// field returns what a value has under a name.
func (r *run) field(dot, of any, n parse.Node, name string, args []parse.Node, last any) any {
	if of == nil {
		r.fail("nil data; no entry for key %q", name)
	}
	if m := method(of, name); m != nil {
		return r.apply(dot, reflect.ValueOf(m), name, n, args, last, of)
	}
	v := reflect.ValueOf(of)
	key := reflect.ValueOf(name)
	if v.Kind() != reflect.Map || !key.Type().AssignableTo(v.Type().Key()) {
		r.fail("can't evaluate field %s in type %T", name, of)
	}
	if len(args) > 1 || last != (missing{}) {
		r.fail("%s is not a method but has arguments", name)
	}
	found := v.MapIndex(key)
	if !found.IsValid() {
		r.fail("map has no entry for key %q", name)
	}
	return found.Interface()
}

// function calls a function by its name.
func (r *run) function(dot any, name string, at parse.Node, args []parse.Node, last any) any {
	f := r.funcs[name]
	if which, ok := f.(choice); ok {
		return r.choose(dot, bool(which), name, args, last)
	}
	return r.apply(dot, reflect.ValueOf(f), name, at, args, last)
}

// choose evaluates and (or: the first true one), which leave the remaining arguments alone once the result is known.
func (r *run) choose(dot any, or bool, name string, args []parse.Node, last any) any {
	given := args[min(1, len(args)):]
	if len(given) == 0 && last == (missing{}) {
		r.fail("wrong number of args for %s: want at least 1 got 0", name)
	}
	var v any
	for _, arg := range given {
		if v = r.argument(dot, reflect.TypeFor[any](), arg); truth(v) == or {
			return v
		}
	}
	if last != (missing{}) {
		return last
	}
	return v
}

// apply calls a function with the values in first, the arguments args[1:] and last. at is what errors of the function name.
func (r *run) apply(dot any, f reflect.Value, name string, at parse.Node, args []parse.Node, last any, first ...any) any {
	typ := f.Type()
	given := args[min(1, len(args)):]
	fixed, got := typ.NumIn(), len(first)+len(given)
	if last != (missing{}) {
		got++
	}
	if typ.IsVariadic() {
		if fixed--; got < fixed {
			r.fail("wrong number of args for %s: want at least %d got %d", name, fixed-len(first), len(given))
		}
	} else if got != fixed {
		r.fail("wrong number of args for %s: want %d got %d", name, fixed-len(first), got-len(first))
	}
	in := make([]reflect.Value, 0, got)
	want := func() reflect.Type {
		if i := len(in); i < fixed {
			return typ.In(i)
		}
		return typ.In(fixed).Elem()
	}
	for _, v := range first {
		in = append(in, reflect.ValueOf(v))
	}
	for _, arg := range given {
		t := want()
		in = append(in, passed(r.argument(dot, t, arg), t))
	}
	if last != (missing{}) {
		t := want()
		in = append(in, passed(r.assignable(last, t), t))
	}
	v, err := safely(f, in)
	if s, ok := v.(string); ok && err == nil && len(s) > MaxBytes {
		err = tooLong()
	}
	if err != nil {
		r.at = at
		r.fail("error calling %s: %w", name, err)
	}
	return v
}

func passed(v any, t reflect.Type) reflect.Value {
	if v == nil {
		return reflect.Zero(t)
	}
	return reflect.ValueOf(v)
}

// safely calls a function. A panic of the function is an error, as in the slice of a negative length.
func safely(f reflect.Value, in []reflect.Value) (v any, err error) {
	defer func() {
		if e := recover(); e != nil {
			v, err = nil, fmt.Errorf("%v", e)
		}
	}()
	out := f.Call(in)
	if len(out) > 1 && !out[1].IsNil() {
		err, _ = reflect.TypeAssert[error](out[1])
	}
	return out[0].Interface(), err
}

// argument evaluates an argument of the type t; nil for any value.
func (r *run) argument(dot any, t reflect.Type, n parse.Node) any {
	r.at = n
	switch n.(type) {
	case *parse.BoolNode, *parse.NumberNode, *parse.StringNode:
		if t == nil || t.Kind() == reflect.Interface {
			return r.literal(dot, n)
		}
		return r.constant(t, n)
	case *parse.NilNode:
		if t == nil || !nillable(t) {
			r.fail("cannot assign nil to %v", t)
		}
		return nil
	case *parse.DotNode:
		return r.assignable(dot, t)
	}
	return r.assignable(r.command(dot, n, n, []parse.Node{n}, missing{}), t)
}

// assignable returns v, which must be a value of the type t; nil for any type.
func (r *run) assignable(v any, t reflect.Type) any {
	switch {
	case t == nil || v == nil && nillable(t):
	case v == nil:
		r.fail("invalid value; expected %s", t)
	case !reflect.TypeOf(v).AssignableTo(t):
		r.fail("wrong type for value; expected %s; got %T", t, v)
	}
	return v
}

func nillable(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.Interface, reflect.Map, reflect.Pointer, reflect.Slice:
		return true
	}
	return false
}

// constant returns a constant in the type that a function wants.
func (r *run) constant(t reflect.Type, n parse.Node) any {
	v := reflect.New(t).Elem()
	number, _ := n.(*parse.NumberNode)
	want := ""
	switch {
	case v.Kind() == reflect.Bool:
		if b, ok := n.(*parse.BoolNode); ok {
			v.SetBool(b.True)
			return v.Interface()
		}
		want = "bool"
	case v.Kind() == reflect.String:
		if s, ok := n.(*parse.StringNode); ok {
			v.SetString(s.Text)
			return v.Interface()
		}
		want = "string"
	case v.CanInt():
		if number != nil && number.IsInt {
			v.SetInt(number.Int64)
			return v.Interface()
		}
		want = "integer"
	default:
		r.fail("can't handle %s for arg of type %s", n, t)
	}
	r.fail("expected %s; found %s", want, n)
	return nil
}
