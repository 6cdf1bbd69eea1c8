package config

import (
	"reflect"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/each"
)

type field struct {
	index  int
	key    string
	bounds string // of the range tag
}

// fieldsOf returns the keys of t, in the order of the struct.
func fieldsOf(t reflect.Type) []field {
	out := make([]field, 0, t.NumField())
	for i := range t.NumField() {
		tag := t.Field(i).Tag
		if key := tag.Get("yaml"); key != "" && key != "-" {
			out = append(out, field{i, key, tag.Get("range")})
		}
	}
	return out
}

func keysOf(t reflect.Type) []string {
	fields := fieldsOf(t)
	return each.Of(fields, func(f field) string { return f.key })
}

// homeOf returns where in the file a key belongs, or "".
func (d *decoder) homeOf(key string) string {
	top := d.top
	if top == nil {
		top = reflect.TypeFor[Config]()
	}
	return homeUnder(top, key, "")
}

func homeUnder(t reflect.Type, key, path string) string {
	switch t.Kind() {
	case reflect.Pointer:
		return homeUnder(t.Elem(), key, path)
	case reflect.Slice:
		return homeUnder(t.Elem(), key, path+"[]")
	case reflect.Map:
		return homeUnder(t.Elem(), key, join(path, "NAME"))
	case reflect.Struct:
	default:
		return ""
	}
	fields := fieldsOf(t)
	for _, f := range fields {
		if f.key == key {
			if path == "" {
				return "the top level"
			}
			return strings.TrimPrefix(path, ".")
		}
	}
	for _, f := range fields {
		if home := homeUnder(t.Field(f.index).Type, key, join(path, f.key)); home != "" {
			return home
		}
	}
	return ""
}

func (q *Quarantine) fromWord(word string) error { return switchOff(&q.Off, word, "after: 2") }

// switchOff sets off if the word says so. The example is a key that can be written instead.
func switchOff(off *bool, word, example string) error {
	switch word {
	case "off", "false", "no":
		*off = true
		return nil
	}
	return flawf("write off, or keys such as "+example, "is the value %s, want keys with values", quoted(word))
}

func (q Quarantine) toWord() (string, bool) { return "off", q.Off }
