package config

import (
	"cmp"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// decoder fills Go values from YAML nodes. It collects every fault, and remembers the place
// of each field for later checks.
type decoder struct {
	faults []Fault
	places map[string]place // by path, of each value in the file
	nodes  int
	full   bool                  // the limit of nodes was reached and reported
	top    reflect.Type          // type of the file's root; nil: Config
	most   Bounds                // zero: the limits of settings
	listed map[reflect.Type]bool // types whose keys a fault has listed
}

type place struct{ line, column int }

// shorthand is implemented by structs that may be written as one word.
type shorthand interface {
	fromWord(word string) error
	toWord() (string, bool)
}

func (d *decoder) root(n *yaml.Node, c *Config) {
	c.setDefaults()
	if n == nil || isNull(n) {
		return
	}
	d.value(n, reflect.ValueOf(c).Elem(), "", 0)
}

func (d *decoder) fault(n *yaml.Node, path string, f *flaw) {
	if len(d.faults) >= maxGathered {
		return
	}
	d.faults = append(d.faults, Fault{Line: n.Line, Column: n.Column, Path: path, Problem: f.problem, Fix: f.fix})
}

// value decodes n into v. path is the place of v in the settings.
func (d *decoder) value(n *yaml.Node, v reflect.Value, path string, depth int) {
	if d.full {
		return
	}
	if d.nodes++; d.nodes > cmp.Or(d.most.Values, maxNodes) {
		d.full = true
		d.fault(n, path, flawf("split or shorten the file", "holds more than %d values", cmp.Or(d.most.Values, maxNodes)))
		return
	}
	if p, ok := reflect.TypeAssert[Placed](v.Addr()); ok {
		p.SetPlace(n.Line, n.Column)
	}
	if _, ok := d.places[path]; !ok {
		d.places[path] = place{n.Line, n.Column}
	}
	if depth > maxDepth {
		d.fault(n, path, flawf("reduce the nesting", "is nested more than %d levels deep", maxDepth))
		return
	}
	if n.Kind == yaml.AliasNode {
		d.value(n.Alias, v, path, depth+1)
		return
	}
	if n.Style&yaml.TaggedStyle != 0 {
		d.fault(n, path, flawf("remove the tag", "has the tag %s", quoted(n.Tag)))
		return
	}
	if isScalar(v.Type()) {
		d.scalar(n, v, path)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		if s, ok := reflect.TypeAssert[defaulter](v); ok {
			s.setDefaults()
		}
		d.value(n, v.Elem(), path, depth)
	case reflect.Struct:
		d.structure(n, v, path, depth)
	case reflect.Map:
		d.mapping(n, v, path, depth)
	case reflect.Slice:
		d.list(n, v, path, depth)
	default:
		panic(fmt.Sprintf("config: field %s has type %v, which the decoder does not know", path, v.Type()))
	}
}

func (d *decoder) structure(n *yaml.Node, v reflect.Value, path string, depth int) {
	if s, ok := reflect.TypeAssert[shorthand](v.Addr()); ok && n.Kind == yaml.ScalarNode && !isNull(n) {
		if err := s.fromWord(n.Value); err != nil {
			d.fault(n, path, asFlaw(err))
		}
		return
	}
	if s, ok := reflect.TypeAssert[Word](v.Addr()); ok && n.Kind == yaml.ScalarNode && !isNull(n) {
		d.word(n, s, path)
		return
	}
	fields := fieldsOf(v.Type())
	d.pairs(n, path, func(key, value *yaml.Node) {
		for _, f := range fields {
			if f.key != key.Value {
				continue
			}
			at := join(path, f.key)
			before := len(d.faults)
			d.value(value, v.Field(f.index), at, depth+1)
			if f.bounds != "" && before == len(d.faults) {
				if flaw := outOfRange(v.Field(f.index), f.bounds); flaw != nil {
					d.fault(value, at, flaw)
				}
			}
			return
		}
		d.unknown(key, v, path)
	})
}

// unknown reports an unknown key with the best available hint.
func (d *decoder) unknown(key *yaml.Node, v reflect.Value, path string) {
	at := join(path, shortKey(key.Value))
	if key.Value == "<<" {
		d.fault(key, at, flawf("repeat the keys, or alias the whole value", "merge keys are not supported"))
		return
	}
	known := keysOf(v.Type())
	if best := nearest(key.Value, known); best != "" {
		d.fault(key, at, flawf("did you mean "+best+"?", "is not a known key"))
		return
	}
	if home := d.homeOf(key.Value); home != "" {
		d.fault(key, at, flawf("it belongs under "+home, "is not a key here"))
		return
	}
	fix := "remove it"
	if !d.listed[v.Type()] { // once is enough
		fix += "; the keys here are " + strings.Join(known, ", ")
		if d.listed == nil {
			d.listed = map[reflect.Type]bool{}
		}
		d.listed[v.Type()] = true
	}
	d.fault(key, at, flawf(fix, "is not a known key"))
}

func (d *decoder) mapping(n *yaml.Node, v reflect.Value, path string, depth int) {
	if isNull(n) {
		return
	}
	out := reflect.MakeMap(v.Type())
	name, rule := names(v.Type().Elem())
	d.pairs(n, path, func(key, value *yaml.Node) {
		at := join(path, shortKey(key.Value))
		if v.Type().Elem() == reflect.TypeFor[Label]() {
			at = path // the key may be a secret
		}
		if !name(key.Value) {
			d.fault(key, at, flawf(rule, "%s is not a valid name", quoted(key.Value)))
			return
		}
		elem := reflect.New(v.Type().Elem())
		if s, ok := reflect.TypeAssert[defaulter](elem); ok {
			s.setDefaults()
		}
		d.value(value, elem.Elem(), at, depth+1)
		out.SetMapIndex(reflect.ValueOf(key.Value), elem.Elem())
	})
	if out.Len() > 0 {
		v.Set(out)
	}
}

// names returns the rule for the keys of a mapping to elem, and its description.
func names(elem reflect.Type) (ok func(string) bool, rule string) {
	if k, ok := reflect.TypeAssert[Keyed](reflect.New(elem)); ok {
		return k.Keys()
	}
	switch elem {
	case reflect.TypeFor[string](): // environment variables
		return envName.MatchString, "use up to 128 letters, digits and _, and begin with no digit"
	case reflect.TypeFor[Label]():
		return func(caller string) bool { return caller != "" && len(caller) <= maxCallerName }, "write the caller, or its hash, in at most 512 bytes"
	case reflect.TypeFor[int](): // weights
		return func(worker string) bool { return workerFlaw(worker) == nil }, "write a worker as in workers"
	case reflect.TypeFor[Slots]():
		return nodeName, "use up to 64 letters, digits, -, _ and ."
	case reflect.TypeFor[HeaderValue]():
		return isToken, "write a header such as X-Env"
	case reflect.TypeFor[Queue]():
		return isQueueName, "use 1 to 80 letters, digits, - and _, and .fifo at the end of a FIFO queue's name"
	case reflect.TypeFor[AccessKey]():
		return keyName.MatchString, "write the access key id: 1 to 128 letters, digits, _, -, . and /"
	}
	return fleetName.MatchString, "use 1 to 63 of a-z, 0-9, - and _, with a letter or digit at both ends"
}

// pairs iterates over the keys and values of a mapping.
func (d *decoder) pairs(n *yaml.Node, path string, do func(key, value *yaml.Node)) {
	if isNull(n) {
		return
	}
	if n.Kind != yaml.MappingNode {
		d.fault(n, path, flawf("write key: value lines below it", "is %s, want keys with values", kindOf(n)))
		return
	}
	if most := cmp.Or(d.most.Entries, maxEntries); len(n.Content)/2 > most {
		d.fault(n, path, flawf("shorten it", "has %d keys, more than %d", len(n.Content)/2, most))
		return
	}
	first := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode || isNull(key) {
			d.fault(key, path, flawf("write a plain word before the colon", "has a key that is %s", kindOf(key)))
			continue
		}
		if line, ok := first[key.Value]; ok {
			d.fault(key, join(path, shortKey(key.Value)), flawf("keep one", "appears twice, first on line %d", line))
			continue
		}
		first[key.Value] = key.Line
		do(key, value)
	}
}

// Only is a list of allowed items. Without it, everything is allowed. An empty list is an
// error, because it would be ambiguous.
type Only []string

func (d *decoder) list(n *yaml.Node, v reflect.Value, path string, depth int) {
	if v.Type() == reflect.TypeFor[Only]() && (isNull(n) || n.Kind == yaml.SequenceNode && len(n.Content) == 0) {
		d.fault(n, path, flawf("name what is allowed, or remove the key to allow everything", "is empty"))
		return
	}
	if isNull(n) {
		return
	}
	if n.Kind != yaml.SequenceNode {
		fix := "write the items as - lines below it"
		if n.Kind == yaml.ScalarNode && isScalar(v.Type().Elem()) {
			fix = "write [" + asItems(n.Value) + "]"
		}
		d.fault(n, path, flawf(fix, "is %s, want a list", kindOf(n)))
		return
	}
	if most := cmp.Or(d.most.Entries, maxEntries); len(n.Content) > most {
		d.fault(n, path, flawf("shorten it", "has %d items, more than %d", len(n.Content), most))
		return
	}
	out := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	for i, item := range n.Content {
		elem := out.Index(i)
		if s, ok := reflect.TypeAssert[defaulter](elem.Addr()); ok {
			s.setDefaults()
		}
		d.value(item, elem, fmt.Sprintf("%s[%d]", path, i), depth+1)
	}
	if out.Len() > 0 {
		v.Set(out)
	}
}

// asItems formats a line of words as the items of a list.
func asItems(line string) string {
	words := strings.Fields(line)
	for i, w := range words {
		if strings.ContainsAny(w, `{}[],:#&*!|>'"%@`) {
			words[i] = strconv.Quote(w)
		}
	}
	s := strings.Join(words, ", ")
	if len(s) > maxShown {
		return "…"
	}
	return s
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// shortKey returns a key for use in a path, shortened and on one line.
func shortKey(key string) string {
	if strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-<") == "" && len(key) <= maxShown && key != "" {
		return key
	}
	return quoted(key)
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// kindOf describes a node for errors.
func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	default:
	}
	if isNull(n) {
		return "empty"
	}
	return "the value " + quoted(n.Value)
}
