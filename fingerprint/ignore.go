package fingerprint

import (
	"errors"
	"fmt"
	"strings"
)

// node is one step of the ignored JSON paths: the node for each member, and which members to drop. A nil node ignores
// nothing.
type node struct {
	names []string // canonical, without the quotes
	below []*node
	drop  []bool

	each     *node // [*]
	dropEach bool
}

// step is one step of a path; the zero step is [*].
type step struct {
	name string
	each bool
}

// add adds one path to the tree.
func (n *node) add(path []step) {
	for i, st := range path {
		last := i == len(path)-1
		if st.each {
			if n.each == nil {
				n.each = &node{}
			}
			n.dropEach = n.dropEach || last
			n = n.each
			continue
		}
		at := -1
		for j, name := range n.names {
			if name == st.name {
				at = j
			}
		}
		if at < 0 {
			at = len(n.names)
			n.names, n.below, n.drop = append(n.names, st.name), append(n.below, &node{}), append(n.drop, false)
		}
		n.drop[at] = n.drop[at] || last
		n = n.below[at]
	}
}

// member returns the node below the member, and whether the member itself is ignored.
func (n *node) member(name []byte) (*node, bool) {
	if n != nil {
		for i, want := range n.names {
			if string(name) == want {
				return n.below[i], n.drop[i]
			}
		}
	}
	return nil, false
}

// element is member for the elements of an array.
func (n *node) element() (*node, bool) {
	if n == nil {
		return nil, false
	}
	return n.each, n.dropEach
}

// parsePath reads a sequence of `$.name`, `["any name"]` and `[*]`.
func parsePath(path string) ([]step, error) {
	rest, ok := strings.CutPrefix(path, "$")
	if !ok {
		return nil, errors.New("a path begins with $")
	}
	if rest == "" {
		return nil, errors.New("$ alone is the whole document, name a part of it")
	}
	var steps []step
	for rest != "" {
		var st step
		var err error
		if st, rest, err = parseStep(rest); err != nil {
			return nil, err
		}
		if steps = append(steps, st); len(steps) > maxDepth {
			return nil, fmt.Errorf("more than %d steps", maxDepth)
		}
	}
	return steps, nil
}

func parseStep(in string) (st step, rest string, err error) {
	if rest, ok := strings.CutPrefix(in, "[*]"); ok {
		return step{each: true}, rest, nil
	}
	for _, q := range []string{`"`, `'`} {
		if quoted, ok := strings.CutPrefix(in, "["+q); ok {
			name, rest, ok := strings.Cut(quoted, q+"]")
			if !ok {
				return st, "", fmt.Errorf("[%s is not closed by %s]", q, q)
			}
			return step{name: canonicalName(name)}, rest, nil
		}
	}
	name, ok := strings.CutPrefix(in, ".")
	if !ok {
		return st, "", fmt.Errorf(`%.20q: want .name, ["name"] or [*]`, in)
	}
	end := strings.IndexAny(name, ".[")
	if end < 0 {
		end = len(name)
	}
	if end == 0 || name[:end] == "*" {
		return st, "", fmt.Errorf(`%.20q: want a name behind the dot`, in)
	}
	return step{name: canonicalName(name[:end])}, name[end:], nil
}

// canonicalName returns a name as the inside of a canonical string.
func canonicalName(name string) string {
	var b []byte
	for _, r := range name {
		b = appendRune(b, r)
	}
	return string(b)
}
