package hints

import "math"

// event is one step through JSON.
type event uint8

const (
	evEnd    event = iota // of the text, or a fault in it
	evOpen                // { or [
	evClose               // } or ]
	evString              // a value
	evNumber
	evWord // true, false, null
)

// maxOpen is how deep a scanner goes.
const maxOpen = 64

// scanner steps through JSON that may be cut off. It takes no memory beyond
// itself. It does not check all of the grammar: what it reads is counted, not
// believed.
type scanner struct {
	text  []byte
	pos   int
	open  [maxOpen]byte // closing brackets
	depth int
	key   []byte // of the member that the event is about, as it is written
	value []byte // of a scalar, without quotes
	array bool   // evOpen: of a list
}

// next is the next step. After evEnd there are no more.
func (s *scanner) next() event {
	s.key = nil
	for {
		c, ok := s.skip()
		if !ok {
			return evEnd
		}
		switch c {
		case ',', ':':
			s.pos++
		case '{', '[':
			if s.depth == maxOpen {
				return evEnd
			}
			s.open[s.depth] = c + 2
			s.depth++
			s.pos++
			s.array = c == '['
			return evOpen
		case '}', ']':
			if s.depth == 0 || s.open[s.depth-1] != c {
				return evEnd
			}
			s.depth--
			s.pos++
			return evClose
		case '"':
			text, ok := s.str()
			if !ok {
				return evEnd
			}
			if c, ok := s.skip(); ok && c == ':' && s.key == nil && s.depth > 0 && s.open[s.depth-1] == '}' {
				s.key = text
				continue
			}
			s.value = text
			return evString
		default:
			return s.plain()
		}
	}
}

// skip goes over space.
func (s *scanner) skip() (byte, bool) {
	for s.pos < len(s.text) {
		switch c := s.text[s.pos]; c {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return c, true
		}
	}
	return 0, false
}

func (s *scanner) str() ([]byte, bool) {
	from := s.pos + 1
	for i := from; i < len(s.text); i++ {
		switch s.text[i] {
		case '"':
			s.pos = i + 1
			return s.text[from:i], true
		case '\\':
			i++
		}
	}
	return nil, false
}

func (s *scanner) plain() event {
	from := s.pos
	for s.pos < len(s.text) {
		switch c := s.text[s.pos]; c {
		case ',', '}', ']', ':', '"', '{', '[', ' ', '\t', '\n', '\r':
		default:
			s.pos++
			continue
		}
		break
	}
	s.value = s.text[from:s.pos]
	if s.pos == len(s.text) { // it may go on
		return evEnd
	}
	if c := s.value[0]; c == '-' || c >= '0' && c <= '9' {
		return evNumber
	}
	return evWord
}

// number is the value as a number; 0 when it is none, or below 0.
func (s *scanner) number() float64 {
	v, i := 0.0, 0
	for ; i < len(s.value) && s.value[i] >= '0' && s.value[i] <= '9'; i++ {
		v = v*10 + float64(s.value[i]-'0')
	}
	if i < len(s.value) && s.value[i] == '.' {
		scale := 0.1
		for i++; i < len(s.value) && s.value[i] >= '0' && s.value[i] <= '9'; i++ {
			v += float64(s.value[i]-'0') * scale
			scale /= 10
		}
	}
	if i+1 < len(s.value) && s.value[i]|0x20 == 'e' {
		i++
		sign := 1
		if s.value[i] == '-' || s.value[i] == '+' {
			if s.value[i] == '-' {
				sign = -1
			}
			i++
		}
		power := 0
		for ; i < len(s.value) && s.value[i] >= '0' && s.value[i] <= '9'; i++ {
			power = min(power*10+int(s.value[i]-'0'), 400)
		}
		v *= math.Pow10(sign * power)
	}
	return v
}
