package config

import (
	"encoding/json"
	"fmt"
	"reflect"

	"go.yaml.in/yaml/v4"

	"github.com/bezoar-dev/bezoar/internal/control/redact"
)

// YAML returns the effective settings: defaults filled in, keys in a stable order, secrets
// masked. If there are no secrets, it parses back to the same Config.
func (c Config) YAML() []byte {
	out, err := yaml.Dump(encode(reflect.ValueOf(c)), yaml.WithIndent(2), yaml.WithLineWidth(-1))
	if err != nil {
		panic(fmt.Sprintf("config: %v", err)) // plain nodes always encode
	}
	return hideSecrets(out, redact.Secret)
}

// MarshalJSON returns the same as YAML, in JSON.
func (c Config) MarshalJSON() ([]byte, error) {
	var doc any
	if err := yaml.Load(c.YAML(), &doc); err != nil {
		return nil, err
	}
	return json.Marshal(doc)
}

// encode is the inverse of decoder.value.
func encode(v reflect.Value) *yaml.Node {
	if isScalar(v.Type()) {
		return word(textOf(v), v.Kind() == reflect.String)
	}
	switch v.Kind() {
	case reflect.Pointer:
		return encode(v.Elem())
	case reflect.Struct:
		return encodeStruct(v)
	case reflect.Map:
		n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		for _, key := range sortedKeys(stringKeys(v)) {
			n.Content = append(n.Content, word(key, true), encode(v.MapIndex(reflect.ValueOf(key))))
		}
		return n
	default:
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		if isScalar(v.Type().Elem()) {
			n.Style = yaml.FlowStyle
		}
		for i := range v.Len() {
			n.Content = append(n.Content, encode(v.Index(i)))
		}
		return n
	}
}

func encodeStruct(v reflect.Value) *yaml.Node {
	if s, ok := reflect.TypeAssert[interface{ toWord() (string, bool) }](v); ok {
		if w, is := s.toWord(); is {
			return word(w, false)
		}
	}
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for _, f := range fieldsOf(v.Type()) {
		fv := v.Field(f.index)
		if unset(fv, f) {
			continue
		}
		n.Content = append(n.Content, word(f.key, true), encode(fv))
	}
	return n
}

// unset reports whether the field can be omitted without a change.
func unset(v reflect.Value, f field) bool {
	switch v.Kind() {
	case reflect.Pointer:
		return v.IsNil()
	case reflect.Map, reflect.Slice, reflect.String:
		return v.Len() == 0 && f.key != "admin" && f.key != "listen" // omitting them means their default
	default:
		return v.IsZero() && zeroIsUnset(f.key)
	}
}

// word creates a scalar. With isText, it quotes text that YAML could read as another type.
func word(text string, isText bool) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Value: text}
	if isText {
		n.Tag = "!!str"
	}
	return n
}

func stringKeys(v reflect.Value) map[string]bool {
	out := make(map[string]bool, v.Len())
	for _, k := range v.MapKeys() {
		out[k.String()] = true
	}
	return out
}
