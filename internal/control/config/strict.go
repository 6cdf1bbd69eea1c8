package config

import (
	"cmp"
	"reflect"

	"go.yaml.in/yaml/v4"
)

// Decode reads data into the struct that into points to as strictly as settings
// are read: for other files of the same style, whose structs carry yaml tags.
// check, when not nil, looks at the whole afterwards: the faults that it returns
// name a Path, and get the place of that field. name stands for the file. The
// error is a [*Faults].
func Decode(name string, data []byte, into any, check func() []Fault) error {
	return DecodeWithin(Bounds{}, name, data, into, check)
}

// Bounds are those of one file. Zero means those of settings.
type Bounds struct {
	Bytes   int
	Values  int // in the whole file, each use of an alias counted anew
	Entries int // of one list or mapping
}

// Word is what a struct implements that may be written as one word.
type Word interface{ SetWord(word string) error }

// Placed is what a struct implements that wants to know where it stands. Of an alias
// that is where the alias stands, then where its value does.
type Placed interface{ SetPlace(line, column int) }

// Keyed is what the values of a mapping implement that takes keys of its own: which
// ones are possible, and what to write, in words.
type Keyed interface {
	Keys() (ok func(string) bool, rule string)
}

// Path is the path of a key below another path.
func Path(path, key string) string { return join(path, shortKey(key)) }

// Wrong is an error of [Word.SetWord] that says how to mend it.
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

// DecodeWithin is [Decode] with bounds of its own.
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

// Nearest is the known word that word is a slip of, or "".
func Nearest(word string, known []string) string { return nearest(word, known) }

// Quoted shows a value from a file: bounded, and without control characters.
func Quoted(s string) string { return quoted(s) }

// NodeKind says what a [Node] is.
type NodeKind int

const (
	Null NodeKind = iota
	Scalar
	List
	Map
)

// Node is a value of a file that has no fixed form. Aliases are resolved.
type Node struct {
	Kind         NodeKind
	Line, Column int
	Text         string  // of a scalar
	Keys         []*Node // of a map, each a scalar and once only
	Values       []*Node // of a list, or a map's, in the order of Keys
}

// Get is a map's value with the key, or nil.
func (n *Node) Get(key string) *Node {
	for i, k := range n.Keys {
		if k.Text == key {
			return n.Values[i]
		}
	}
	return nil
}

// Tree reads data, YAML or JSON, without asking for a form. Its bounds are those
// of settings; repeated keys are refused. An empty file is a Null.
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
		d.fault(n, path, flawf("nothing is nested that deep", "is nested more than %d levels deep", maxDepth))
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
