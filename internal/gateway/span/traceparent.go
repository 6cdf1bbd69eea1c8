package span

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
)

// Trace is the identity of a span in a distributed trace, as in the traceparent
// field of W3C Trace Context. The zero value is none.
type Trace struct {
	ID    [16]byte
	Span  [8]byte
	Flags byte // bit 0: sampled
}

// NewTrace returns a child of parent, or the sampled root of a new trace if parent is zero.
func NewTrace(parent Trace) Trace {
	t := parent
	if t.ID == [16]byte{} {
		t.Flags = 1
		binary.LittleEndian.PutUint64(t.ID[:], rand.Uint64())
		binary.LittleEndian.PutUint64(t.ID[8:], rand.Uint64()|1) // not all zeros
	}
	binary.LittleEndian.PutUint64(t.Span[:], rand.Uint64()|1)
	return t
}

// The parts of a traceparent: version, trace, span and flags, separated by dashes.
const (
	traceSize = 55
	traceAt   = 3
	spanAt    = 36
	flagsAt   = 53
)

// ParseTrace reads the value of a traceparent field. As the standard requires, it ignores additions of later versions.
func ParseTrace(s string) (t Trace, ok bool) {
	if len(s) < traceSize || s[2] != '-' || s[spanAt-1] != '-' || s[flagsAt-1] != '-' {
		return Trace{}, false
	}
	var version [1]byte
	if !lowerHex(version[:], s[:2]) || version[0] == 0xff {
		return Trace{}, false
	}
	if len(s) > traceSize && (version[0] == 0 || s[traceSize] != '-') {
		return Trace{}, false
	}
	var flags [1]byte
	if !lowerHex(t.ID[:], s[traceAt:spanAt-1]) || !lowerHex(t.Span[:], s[spanAt:flagsAt-1]) || !lowerHex(flags[:], s[flagsAt:traceSize]) {
		return Trace{}, false
	}
	t.Flags = flags[0]
	if t.ID == [16]byte{} || t.Span == [8]byte{} {
		return Trace{}, false
	}
	return t, true
}

// lowerHex decodes s, which must be in lower case, into dst.
func lowerHex(dst []byte, s string) bool {
	for i := range dst {
		hi, lo := nibble(s[2*i]), nibble(s[2*i+1])
		if hi > 15 || lo > 15 {
			return false
		}
		dst[i] = hi<<4 | lo
	}
	return true
}

func nibble(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	}
	return 0xff
}

func (t Trace) IsZero() bool { return t == Trace{} }

// AppendText appends the value of a traceparent field.
func (t Trace) AppendText(b []byte) []byte {
	b = append(b, "00-"...)
	b = hex.AppendEncode(b, t.ID[:])
	b = append(b, '-')
	b = hex.AppendEncode(b, t.Span[:])
	b = append(b, '-')
	return hex.AppendEncode(b, []byte{t.Flags})
}

// String returns the value of a traceparent field.
func (t Trace) String() string { return string(t.AppendText(nil)) }
