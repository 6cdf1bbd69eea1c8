package cmdline

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// read reads a value from the words, and tells took how many of them it took. The first time, it replaces what was there.
func (v *Value) read(words []token, took func(int)) error {
	if took == nil {
		took = func(int) {}
	}
	if !v.given {
		v.given = true
		v.Target.Set(empty(v.Target.Type()))
	}
	err := v.decode(words, took)
	switch unfit, ok := errors.AsType[*unfitError](err); {
	case err == nil:
		return nil
	case ok && !v.argument && strings.HasPrefix(unfit.given.text, "-") && unfit.given.kind == word:
		return fmt.Errorf("%s: %w; perhaps try %s=%q?", v.label(), err, v.label(), unfit.given.text)
	}
	return fmt.Errorf("%s: %w", v.label(), err)
}

// empty returns the value of a flag that is given and says nothing. Lists are not nil.
func empty(t reflect.Type) reflect.Value {
	switch t.Kind() {
	case reflect.Slice:
		return reflect.MakeSlice(t, 0, 0)
	case reflect.Map:
		return reflect.MakeMap(t)
	}
	return reflect.Zero(t)
}

func (v *Value) decode(words []token, took func(int)) error {
	to := v.Target
	if to.Kind() == reflect.Bool {
		to.SetBool(true)
		if len(words) == 0 || words[0].kind != flagValue {
			return nil
		}
		took(1)
		is, err := readBool(words[0].text)
		to.SetBool(is)
		return err
	}
	kind := v.reader.Kind
	switch to.Kind() {
	case reflect.Slice:
		if kind = "string"; len(words) == 0 {
			return errors.New(`missing value, expecting "<arg>` + map[bool]string{true: ",..."}[v.sep] + `"`)
		}
	case reflect.Map:
		if kind = "map"; len(words) == 0 {
			return errors.New(`missing value, expecting "<key>=<value>"`)
		}
	}
	if len(words) == 0 {
		return &unfitError{kind, token{"EOL", argument}, "<EOL>"}
	}
	t := words[0]
	if t.kind == word && strings.HasPrefix(t.text, "-") && t.text != "-" {
		return &unfitError{kind, t, map[bool]string{true: "long flag", false: "short flag"}[strings.HasPrefix(t.text, "--")]}
	}
	took(1)
	switch to.Kind() {
	case reflect.Slice:
		items := []string{t.text}
		if v.sep && !v.argument {
			items = split(t.text)
		}
		to.Set(reflect.AppendSlice(to, reflect.ValueOf(items)))
		return nil
	case reflect.Map:
		key, value, ok := strings.Cut(t.text, "=")
		if !ok {
			return fmt.Errorf(`expected "<key>=<value>" but got %q`, t.text)
		}
		to.SetMapIndex(reflect.ValueOf(key), reflect.ValueOf(value))
		return nil
	case reflect.Pointer:
		to.Set(reflect.New(to.Type().Elem()))
		to = to.Elem()
	}
	return v.reader.Read(t.text, to)
}

// unfitError says that a value is missing before a flag or the end.
type unfitError struct {
	kind  string
	given token
	is    string
}

func (e *unfitError) Error() string {
	return fmt.Sprintf("expected %s value but got %q (%s)", e.kind, e.given.text, e.is)
}

func readBool(text string) (bool, error) {
	switch text = strings.ToLower(text); text {
	case "true", "1", "yes":
		return true, nil
	case "false", "0", "no":
		return false, nil
	}
	return false, fmt.Errorf("bool value must be true, 1, yes, false, 0 or no but got %q", text)
}

// split splits items at commas; \, is a comma in an item.
func split(text string) (items []string) {
	item, escaped := "", false
	for i, c := range text {
		switch {
		case escaped:
			if c != ',' {
				item += `\`
			}
			item += string(c)
			escaped = false
		case c == '\\' && i < len(text)-1:
			escaped = true
		case c == ',':
			items = append(items, item)
			item = ""
		default:
			item += string(c)
		}
	}
	if item != "" {
		items = append(items, item)
	}
	return items
}

// allowed checks a value against its enum.
func (v *Value) allowed() error {
	if v.Enum == nil {
		return nil
	}
	got := []string{fmt.Sprint(v.Target.Interface())}
	switch to := v.Target; to.Kind() {
	case reflect.Pointer:
		if to.IsNil() {
			return nil
		}
		got[0] = fmt.Sprint(to.Elem().Interface())
	case reflect.Slice:
		got, _ = reflect.TypeAssert[[]string](to)
	}
	for _, one := range got {
		if slices.Contains(v.Enum, one) {
			continue
		}
		var quoted []string
		for _, e := range v.Enum {
			if e != "" { // which stands for nothing
				quoted = append(quoted, strconv.Quote(e))
			}
		}
		return fmt.Errorf("%s must be one of %s but got %q", v.label(), strings.Join(quoted, ","), one)
	}
	return nil
}
