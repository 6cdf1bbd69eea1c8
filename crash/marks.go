package crash

import "bytes"

// strong are the words that begin a trace which may be longer than the tail,
// or after which a program may go on talking. Only inputs larger than the tail
// are searched for them. Each has at least markLen bytes.
func strong() []string {
	return []string{
		"panic: ", "fatal error: ", "Traceback (most", "Exception in thread",
		"Sanitizer: ", "panicked at ", "terminate called", "Unhandled exc",
		"UnhandledPromise", "Uncaught ", "DATA RACE", "Fatal Python",
		"FATAL ERROR: ", "SIGSEGV", "Fatal error: ", "** (EXIT",
	}
}

const markLen = 7

// marks finds the strong words, all in one pass (Wu and Manber's way): it
// looks at two bytes at a time and jumps as far as they allow, so that plain
// logs pass at a byte or less per step.
type marks struct {
	shift [1 << 16]uint8
	words [][]byte
}

func newMarks() *marks {
	m := &marks{}
	for i := range m.shift {
		m.shift[i] = markLen - 1
	}
	for _, w := range strong() {
		m.words = append(m.words, []byte(w))
		for i := 1; i < markLen; i++ {
			pair := uint16(w[i-1])<<8 | uint16(w[i])
			m.shift[pair] = min(m.shift[pair], uint8(markLen-1-i))
		}
	}
	return m
}

// find returns where the first strong word begins in b, or -1.
func (m *marks) find(b []byte) int {
	for i := markLen - 1; i < len(b); {
		s := m.shift[uint16(b[i-1])<<8|uint16(b[i])]
		if s > 0 {
			i += int(s)
			continue
		}
		at := i - (markLen - 1)
		for _, w := range m.words {
			if b[at] == w[0] && bytes.HasPrefix(b[at:], w) {
				return at
			}
		}
		i++
	}
	return -1
}
