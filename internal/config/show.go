package config

import (
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"
)

// masked stands where a secret was.
const masked = "[secret]"

// YAML returns the effective settings: defaults filled in, keys in a stable
// order, secrets masked. Without secrets it parses back to the same Config.
func (c Config) YAML() []byte {
	out, err := yaml.Dump(encode(reflect.ValueOf(c), ""), yaml.WithIndent(2), yaml.WithLineWidth(-1))
	if err != nil {
		panic(fmt.Sprintf("config: %v", err)) // a tree of plain words always encodes
	}
	return out
}

// MarshalJSON returns what YAML prints, as JSON.
func (c Config) MarshalJSON() ([]byte, error) {
	var doc any
	if err := yaml.Load(c.YAML(), &doc); err != nil {
		return nil, err
	}
	return json.Marshal(doc)
}

// encode is the inverse of decoder.value.
func encode(v reflect.Value, mask string) *yaml.Node {
	if isScalar(v.Type()) {
		text := textOf(v)
		if mask == "url" {
			text = maskURL(text)
		}
		return word(text, v.Kind() == reflect.String)
	}
	switch v.Kind() {
	case reflect.Pointer:
		return encode(v.Elem(), mask)
	case reflect.Struct:
		return encodeStruct(v)
	case reflect.Map:
		n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		for _, key := range sortedKeys(stringKeys(v)) {
			elem := v.MapIndex(reflect.ValueOf(key))
			if mask == "env" && secretName.MatchString(key) {
				elem = reflect.ValueOf(masked)
			}
			n.Content = append(n.Content, word(key, true), encode(elem, ""))
		}
		return n
	default:
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		if isScalar(v.Type().Elem()) {
			n.Style = yaml.FlowStyle
		}
		for i := range v.Len() {
			item := v.Index(i)
			if mask == "args" {
				item = reflect.ValueOf(maskArg(item.String()))
			}
			n.Content = append(n.Content, encode(item, ""))
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
		n.Content = append(n.Content, word(f.key, true), encode(fv, f.mask))
	}
	return n
}

// unset reports whether leaving the field out says the same.
func unset(v reflect.Value, f field) bool {
	switch v.Kind() {
	case reflect.Pointer:
		return v.IsNil()
	case reflect.Map, reflect.Slice, reflect.String:
		return v.Len() == 0 && f.key != "admin" && f.key != "listen" // whose absence means its default
	default:
		return v.IsZero() && zeroIsUnset(f.key)
	}
}

// word makes a scalar; isText quotes what YAML could take for something else.
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

// secretName recognises names whose values are not shown.
var secretName = regexp.MustCompile(`(?i)(pass(word|wd|phrase)?|secret|token|credential|(api|access|private|signing|encryption)[_-]?key|_key|dsn|database_url)$|auth`)

// maskArg hides the value in --password=value.
func maskArg(arg string) string {
	name, _, ok := strings.Cut(arg, "=")
	if ok && secretName.MatchString(strings.TrimLeft(name, "-")) {
		return name + "=" + masked
	}
	return arg
}

// maskURL hides the password in a URL, wherever it stands.
func maskURL(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Opaque != "" || u.Host == "" {
		if err != nil {
			return masked
		}
		return text
	}
	touched := false
	if _, ok := u.User.Password(); ok {
		u.User, touched = url.UserPassword(u.User.Username(), "secret"), true
	}
	q := u.Query()
	for key := range q {
		if secretName.MatchString(key) {
			q.Set(key, "secret")
			touched = true
		}
	}
	if !touched {
		return text
	}
	u.RawQuery = q.Encode()
	return u.String()
}
