package config

import (
	"cmp"
	"reflect"

	"go.yaml.in/yaml/v4"
)

// Decode parses data into the struct that into points to, as strictly as settings. It is
// for other files of the same style, whose structs have yaml tags. check, if not nil,
// checks the result: the faults that it returns have a Path, and get the position of that
// field. name is the file name. The error is a [*Faults].
func Decode(name string, data []byte, into any, check func() []Fault) error {
	return DecodeWithin(Bounds{}, name, data, into, check)
}

// Bounds limits one file. Zero selects the limits of settings.
type Bounds struct {
	Bytes   int
	Values  int // in the whole file, counting each use of an alias
	Entries int // entries of one list or mapping
}

// Word is implemented by structs that may be written as one word.
type Word interface{ SetWord(word string) error }

// Placed is implemented by structs that need their position in the file. For an alias, that
// is the position of the alias, then that of its value.
type Placed interface{ SetPlace(line, column int) }

// Keyed is implemented by the values of a mapping that defines its own keys: which keys are
// valid, and a description of the rule.
type Keyed interface {
	Keys() (ok func(string) bool, rule string)
}

// Path returns the path of a key below another path.
func Path(path, key string) string { return join(path, shortKey(key)) }

// Wrong returns an error of [Word.SetWord] with a fix.
func Wrong(problem, fix string) error { return &flaw{problem: problem, fix: fix} }

func (d *decoder) word(n *yaml.Node, w Word, path string) {
	if len(n.Value) > maxTextBytes {
		d.fault(n, path, flawf("shorten it", "is %d bytes long, more than %d", len(n.Value), maxTextBytes))
		return
	}
	if err := w.SetWord(n.Value); err != nil {
		d.fault(n, path, asFlaw(err))
	}
}

// DecodeWithin is [Decode] with the given limits.
func DecodeWithin(most Bounds, name string, data []byte, into any, check func() []Fault) error {
	root, flaw := load(data, cmp.Or(most.Bytes, MaxFileSize))
	if flaw != nil {
		flaw.File = name
		return faultsError([]Fault{*flaw})
	}
	v := reflect.ValueOf(into).Elem()
	d := &decoder{places: map[string]place{}, top: v.Type(), most: most}
	if root != nil && !isNull(root) {
		d.value(root, v, "", 0)
	}
	if check != nil && !d.full {
		for _, f := range check() {
			if !d.explained(finding{Fault: f}) {
				d.faults = append(d.faults, d.locate(f))
			}
		}
	}
	for i := range d.faults {
		d.faults[i].File = name
	}
	return faultsError(d.faults)
}

// Nearest returns the known word that word is probably a misspelling of, or "".
func Nearest(word string, known []string) string { return nearest(word, known) }

// Quoted returns a value from a file for display: shortened and without control characters.
func Quoted(s string) string { return quoted(s) }

// NodeKind is the kind of a [Node].
type NodeKind int

const (
	Null NodeKind = iota
	Scalar
	List
	Map
)

// Node is a value of a file without a fixed schema. Aliases are resolved.
type Node struct {
	Kind         NodeKind
	Line, Column int
	Text         string  // for a scalar
	Keys         []*Node // for a map; each key is a scalar and occurs once
	Values       []*Node // for a list, or for a map in the order of Keys
}

// Get returns the value of a map's key, or nil.
func (n *Node) Get(key string) *Node {
	for i, k := range n.Keys {
		if k.Text == key {
			return n.Values[i]
		}
	}
	return nil
}

// Tree parses YAML or JSON without a schema. It uses the limits of settings and rejects
// duplicate keys. An empty file is a Null.
func Tree(name string, data []byte) (*Node, error) {
	root, flaw := load(data, MaxFileSize)
	if flaw != nil {
		flaw.File = name
		return nil, faultsError([]Fault{*flaw})
	}
	d := &decoder{}
	var n *Node
	if root == nil {
		n = &Node{}
	} else {
		n = d.tree(root, "", 0)
	}
	for i := range d.faults {
		d.faults[i].File = name
	}
	return n, faultsError(d.faults)
}

func (d *decoder) tree(n *yaml.Node, path string, depth int) *Node {
	out := &Node{Line: n.Line, Column: n.Column}
	if d.full {
		return out
	}
	if d.nodes++; d.nodes > maxNodes {
		d.full = true
		d.fault(n, path, flawf("split or shorten the file", "holds more than %d values", maxNodes))
		return out
	}
	if depth > maxDepth {
		d.fault(n, path, flawf("reduce the nesting", "is nested more than %d levels deep", maxDepth))
		return out
	}
	switch {
	case n.Kind == yaml.AliasNode:
		return d.tree(n.Alias, path, depth+1)
	case isNull(n):
	case n.Kind == yaml.MappingNode:
		out.Kind = Map
		d.pairs(n, path, func(key, value *yaml.Node) {
			out.Keys = append(out.Keys, &Node{Kind: Scalar, Line: key.Line, Column: key.Column, Text: key.Value})
			out.Values = append(out.Values, d.tree(value, join(path, shortKey(key.Value)), depth+1))
		})
	case n.Kind == yaml.SequenceNode:
		out.Kind = List
		for _, item := range n.Content {
			out.Values = append(out.Values, d.tree(item, path, depth+1))
		}
	default:
		out.Kind, out.Text = Scalar, n.Value
		if len(n.Value) > maxTextBytes {
			d.fault(n, path, flawf("shorten it", "is %d bytes long, more than %d", len(n.Value), maxTextBytes))
		}
	}
	return out
}
