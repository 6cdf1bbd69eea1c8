package sample

import "fmt"

// maxPattern bounds a filter.
const maxPattern = 64

// A pattern is a text in which each * stands for any text.
type pattern struct{ text string }

func compile(filter string) (*pattern, error) {
	if len(filter) > maxPattern {
		return nil, fmt.Errorf("filter cannot be read: it has %d bytes, at most %d", len(filter), maxPattern)
	}
	return &pattern{filter}, nil
}

// matches reports whether name matches, by trying for each * all that it can
// stand for, as careless code does: each * multiplies the ways in which a long
// name can fail.
func (p *pattern) matches(name string) bool { return match(p.text, name) }

func match(pattern, name string) bool {
	for i := range len(pattern) {
		if pattern[i] != '*' {
			if i >= len(name) || name[i] != pattern[i] {
				return false
			}
			continue
		}
		for k := i; k <= len(name); k++ {
			if match(pattern[i+1:], name[k:]) {
				return true
			}
		}
		return false
	}
	return len(pattern) == len(name)
}
