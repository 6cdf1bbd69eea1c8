package template

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
)

// class groups the kinds of values that can be compared with each other.
type class int

const (
	other class = iota
	boolean
	integer // signed or not
	float
	complexNumber
	text
)

func classOf(v reflect.Value) class {
	switch {
	case v.CanInt(), v.CanUint():
		return integer
	case v.CanFloat():
		return float
	case v.CanComplex():
		return complexNumber
	case v.Kind() == reflect.Bool:
		return boolean
	case v.Kind() == reflect.String:
		return text
	}
	return other
}

func equal(a any, others ...any) (bool, error) {
	if len(others) == 0 {
		return false, errors.New("missing argument for comparison")
	}
	for _, b := range others {
		if is, err := same(a, b); is || err != nil {
			return is, err
		}
	}
	return false, nil
}

func same(a, b any) (bool, error) {
	v, w := reflect.ValueOf(a), reflect.ValueOf(b)
	class := classOf(v)
	switch {
	case class != classOf(w):
		if a == nil || b == nil {
			return false, nil
		}
		return false, fmt.Errorf("incompatible types for comparison: %T and %T", a, b)
	case class == boolean:
		return v.Bool() == w.Bool(), nil
	case class == complexNumber:
		return v.Complex() == w.Complex(), nil
	case class != other:
		return order(v, w) == 0, nil
	case isNil(v) || isNil(w):
		if a != nil && b != nil && v.Kind() != w.Kind() {
			return false, fmt.Errorf("non-comparable types %T and %T", a, b)
		}
		return isNil(v) && isNil(w), nil
	case v.Kind() != w.Kind() || !w.Type().Comparable():
		return false, fmt.Errorf("non-comparable types %T and %T", a, b)
	}
	return a == b, nil
}

func isNil(v reflect.Value) bool {
	return !v.IsValid() || nillable(v.Type()) && v.IsNil()
}

// order compares two values of a class other than boolean and complexNumber.
func order(v, w reflect.Value) int {
	switch {
	case v.CanFloat():
		return cmp.Compare(v.Float(), w.Float())
	case v.Kind() == reflect.String:
		return cmp.Compare(v.String(), w.String())
	case v.CanInt() && w.CanInt():
		return cmp.Compare(v.Int(), w.Int())
	case v.CanUint() && w.CanUint():
		return cmp.Compare(v.Uint(), w.Uint())
	case v.CanInt(): // w is unsigned
		if v.Int() < 0 {
			return -1
		}
		return cmp.Compare(uint64(v.Int()), w.Uint()) //nolint:gosec // not negative
	}
	return -order(w, v)
}

func less(a, b any) (bool, error) {
	v, w := reflect.ValueOf(a), reflect.ValueOf(b)
	class := classOf(v)
	switch {
	case class == other || classOf(w) == other || class == classOf(w) && (class == boolean || class == complexNumber):
		return false, errors.New("invalid type for comparison")
	case class != classOf(w):
		return false, fmt.Errorf("incompatible types for comparison: %T and %T", a, b)
	}
	return order(v, w) < 0, nil
}

func unequal(a, b any) (bool, error) {
	is, err := same(a, b)
	return !is, err
}

func lessOrEqual(a, b any) (bool, error) {
	if is, err := less(a, b); is || err != nil {
		return is, err
	}
	return same(a, b)
}

func greater(a, b any) (bool, error) {
	is, err := lessOrEqual(a, b)
	return !is && err == nil, err
}

func greaterOrEqual(a, b any) (bool, error) {
	is, err := less(a, b)
	return !is && err == nil, err
}
