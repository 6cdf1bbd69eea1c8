package template

import (
	"errors"
	"fmt"
	"reflect"
	texttemplate "text/template"
)

// choice stands for the functions and (false) and or (true), see [run.choose].
type choice bool

var builtins = Funcs{
	"and": choice(false), "or": choice(true), "not": func(v any) bool { return !truth(v) },
	"len": length, "index": index, "slice": slice, "call": call,
	"print": fmt.Sprint, "printf": fmt.Sprintf, "println": fmt.Sprintln,
	"html": texttemplate.HTMLEscaper, "js": texttemplate.JSEscaper, "urlquery": texttemplate.URLQueryEscaper,
	"eq": equal, "ne": unequal, "lt": less, "le": lessOrEqual, "gt": greater, "ge": greaterOrEqual,
}

// truth reports whether a value is true for if: neither zero nor empty.
func truth(v any) bool {
	is, _ := texttemplate.IsTrue(v)
	return is
}

func call(f any, _ ...any) (any, error) {
	return nil, fmt.Errorf("a value of type %T is not a function", f)
}

func length(of any) (int, error) {
	switch v := reflect.ValueOf(of); v.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map, reflect.String:
		return v.Len(), nil
	}
	return 0, fmt.Errorf("len of type %T", of)
}

// index returns of[indexes[0]][indexes[1]] and so on. A key that a map does not have gives the zero value.
func index(of any, indexes ...any) (any, error) {
	if of == nil {
		return nil, errors.New("index of untyped nil")
	}
	for _, at := range indexes {
		switch v := reflect.ValueOf(of); v.Kind() {
		case reflect.Slice, reflect.Array, reflect.String:
			i, err := position(at, v.Len()-1)
			if err != nil {
				return nil, err
			}
			of = v.Index(i).Interface()
		case reflect.Map:
			key := reflect.ValueOf(at)
			switch want := v.Type().Key(); {
			case at == nil:
				return nil, fmt.Errorf("value is nil; should be of type %s", want)
			case !key.Type().AssignableTo(want):
				return nil, fmt.Errorf("value has type %T; should be %s", at, want)
			}
			found := v.MapIndex(key)
			if !found.IsValid() {
				found = reflect.Zero(v.Type().Elem())
			}
			of = found.Interface()
		case reflect.Invalid:
			return nil, errors.New("index of nil pointer")
		default:
			return nil, fmt.Errorf("can't index item of type %T", of)
		}
	}
	return of, nil
}

// position returns an index of at most limit.
func position(at any, limit int) (int, error) {
	var i int64
	switch v := reflect.ValueOf(at); {
	case at == nil:
		return 0, errors.New("cannot index slice/array with nil")
	case v.CanInt():
		i = v.Int()
	case v.CanUint():
		i = int64(min(v.Uint(), 1<<62)) //nolint:gosec // it fits
	default:
		return 0, fmt.Errorf("cannot index slice/array with type %T", at)
	}
	if i < 0 || i > int64(limit) {
		return 0, fmt.Errorf("index out of range: %d", i)
	}
	return int(i), nil
}

// slice returns of[i:j] or of[i:j:k].
func slice(of any, indexes ...any) (any, error) {
	v := reflect.ValueOf(of)
	limit := 0
	switch {
	case len(indexes) > 3:
		return nil, fmt.Errorf("too many slice indexes: %d", len(indexes))
	case v.Kind() == reflect.String && len(indexes) == 3:
		return nil, errors.New("cannot 3-index slice a string")
	case v.Kind() == reflect.String:
		limit = v.Len()
	case v.Kind() == reflect.Slice:
		limit = v.Cap()
	default:
		return nil, fmt.Errorf("can't slice item of type %T", of)
	}
	at := []int{0, v.Len(), limit}
	for n, given := range indexes {
		i, err := position(given, limit)
		if err != nil {
			return nil, err
		}
		at[n] = i
	}
	if at[0] > at[1] || at[1] > at[2] {
		return nil, fmt.Errorf("invalid slice index: %v", at[:max(2, len(indexes))])
	}
	if len(indexes) == 3 {
		return v.Slice3(at[0], at[1], at[2]).Interface(), nil
	}
	return v.Slice(at[0], at[1]).Interface(), nil
}
