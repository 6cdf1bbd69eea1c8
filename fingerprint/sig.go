package fingerprint

import (
	"encoding/binary"
	"math/bits"
)

// sig is the skeleton of a plain value: its class, and the bucket of its length if the class has one.
type sig uint16

const (
	sigBool = sig(cBool) << 8
	sigNull = sig(cNull) << 8
	inSkel  = sig(cNone) << 8 // no text: skel has it already

	cNull = cBinary + 1
	cNone = cBinary + 2
)

// sigOf returns the sig of a value of n bytes.
func sigOf(c class, n int) sig {
	switch c {
	case cEmpty, cUUID, cBool, cDate:
		return sig(c) << 8
	}
	return sig(c)<<8 | sig(bits.Len64(uint64(n)))
}

// classTexts has the texts of the classes, in their order.
var classTexts = [32][8]byte{
	{'e', 'm', 'p', 't', 'y'},
	{'i', 'n', 't'},
	{'d', 'e', 'c'},
	{'h', 'e', 'x'},
	{'u', 'u', 'i', 'd'},
	{'b', 'o', 'o', 'l'},
	{'w', 'o', 'r', 'd'},
	{'w', 'o', 'r', 'd', 's'},
	{'u', 'r', 'l'},
	{'e', 'm', 'a', 'i', 'l'},
	{'d', 'a', 't', 'e'},
	{'t', 'o', 'k', 'e', 'n'},
	{'t', 'e', 'x', 't'},
	{'m', 'e', 't', 'a'},
	{'b', 'i', 'n', 'a', 'r', 'y'},
	{'n', 'u', 'l', 'l'},
}

// classSizes has the lengths of these texts.
const classSizes = "\x05\x03\x03\x03\x04\x04\x04\x05\x03\x05\x04\x05\x04\x04\x06\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"

// append appends the skeleton's text. It has at most eight bytes, which are written at once.
func (g sig) append(dst []byte) []byte {
	c, b := g>>8&31, uint64(g&63)
	text, n := binary.LittleEndian.Uint64(classTexts[c][:]), int(classSizes[c])
	if b > 0 {
		digits, more := b+'0', 1
		if b >= 10 {
			digits, more = b/10+'0'|(b%10+'0')<<8, 2
		}
		text |= digits << (8 * n & 63)
		n += more
	}
	return binary.LittleEndian.AppendUint64(dst, text)[:len(dst)+n]
}
