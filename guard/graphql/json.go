package graphql

import (
	"github.com/bezoar-dev/bezoar/guard/cost"
	"github.com/bezoar-dev/bezoar/guard/internal/unescape"
)

// scanner iterates over one JSON object or list at a time. The caller skips the values, or
// passes them to another scanner.
//
//	for key, ok := s.first('{'); ok; key, ok = s.more() { … s.skip() … }
type scanner struct {
	text  []byte
	pos   int
	fault fault

	closing byte    // of the current container
	depth   int     // maximum depth of skip
	open    *[]byte // closing brackets that skip expects
	arena   *[]byte // for names with escapes
}

func (s *scanner) wrong(why string) bool {
	if s.fault.reason == "" {
		s.fault = fault{cost.Unparsable, why, s.pos}
	}
	return false
}

func (s *scanner) space() {
	for s.pos < len(s.text) {
		switch s.text[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

// at reports whether the next value begins with c.
func (s *scanner) at(c byte) bool {
	s.space()
	return s.pos < len(s.text) && s.text[s.pos] == c
}

func (s *scanner) null() bool {
	if s.at('n') && string(s.text[s.pos:min(s.pos+4, len(s.text))]) == "null" {
		s.pos += 4
		return true
	}
	return false
}

// end reports whether no error occurred and no text follows.
func (s *scanner) end() bool {
	if s.space(); s.pos < len(s.text) {
		return s.wrong("unexpected text after the value")
	}
	return s.fault.reason == ""
}

// first enters an object or a list and moves to its first value. In an object, key is the
// name of the value.
func (s *scanner) first(c byte) (key []byte, ok bool) {
	if !s.at(c) {
		if c == '{' {
			return nil, s.wrong("expected an object")
		}
		return nil, s.wrong("expected a list")
	}
	s.pos++
	s.closing = c + 2 // in ASCII
	if s.at(s.closing) {
		s.pos++
		return nil, false
	}
	return s.key()
}

// more moves to the next value.
func (s *scanner) more() (key []byte, ok bool) {
	switch {
	case s.fault.reason != "":
		return nil, false
	case s.at(','):
		s.pos++
		return s.key()
	case s.at(s.closing):
		s.pos++
		return nil, false
	}
	return nil, s.wrong("expected a comma or a closing bracket")
}

func (s *scanner) key() (key []byte, ok bool) {
	if s.closing == ']' {
		return nil, true
	}
	text, escaped, ok := s.str()
	if !ok {
		return nil, false
	}
	if !s.at(':') {
		return nil, s.wrong("expected a value after the name")
	}
	s.pos++
	if escaped {
		from := len(*s.arena)
		*s.arena = unescape.JSON(*s.arena, text)
		text = (*s.arena)[from:]
	}
	return text, true
}

// str skips a string. text is the part between the quotes.
func (s *scanner) str() (text []byte, escaped, ok bool) {
	if !s.at('"') {
		return nil, false, s.wrong("expected a string")
	}
	from := s.pos + 1
	for i := from; i < len(s.text); i++ {
		switch s.text[i] {
		case '"':
			s.pos = i + 1
			return s.text[from:i], escaped, true
		case '\\':
			escaped = true
			i++
		}
	}
	return nil, false, s.wrong("unterminated string")
}

// skip skips a value with its content.
func (s *scanner) skip() []byte {
	s.space()
	from := s.pos
	open := (*s.open)[:0]
	defer func() { *s.open = open }()
	for {
		if s.space(); s.pos >= len(s.text) {
			s.wrong("the text ends within a value")
			return nil
		}
		switch c := s.text[s.pos]; c {
		case '{', '[':
			if len(open) >= s.depth {
				s.fault = fault{cost.BodyDepth, "values nested deeper than the limit", s.pos}
				return nil
			}
			open = append(open, c+2)
			if s.pos++; !s.at(c + 2) {
				if c == '{' && !s.name() {
					return nil
				}
				continue
			}
		case '"':
			if _, _, ok := s.str(); !ok {
				return nil
			}
		default:
			if !s.plain() {
				return nil
			}
		}
		for len(open) > 0 && s.at(open[len(open)-1]) {
			open = open[:len(open)-1]
			s.pos++
		}
		if len(open) == 0 {
			return s.text[from:s.pos]
		}
		if !s.at(',') {
			s.wrong("expected a comma or a closing bracket")
			return nil
		}
		s.pos++
		if open[len(open)-1] == '}' && !s.name() {
			return nil
		}
	}
}

// name skips a name with its colon.
func (s *scanner) name() bool {
	if _, _, ok := s.str(); !ok {
		return false
	}
	if !s.at(':') {
		return s.wrong("expected a value after the name")
	}
	s.pos++
	return true
}

// plain skips a number or a word.
func (s *scanner) plain() bool {
	from := s.pos
	for s.pos < len(s.text) {
		c := s.text[s.pos]
		if !nameByte(c) && c != '-' && c != '+' && c != '.' {
			break
		}
		s.pos++
	}
	return s.pos > from || s.wrong("expected a value")
}
