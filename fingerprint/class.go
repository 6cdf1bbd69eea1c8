package fingerprint

import (
	"bytes"
	"math/bits"
)

// class is the kind of data that a value looks like.
type class uint8

const (
	cEmpty class = iota
	cInt
	cDecimal
	cHex
	cUUID
	cBool
	cWord
	cWords
	cURL
	cEmail
	cDate
	cToken
	cText
	cMeta
	cBinary
)

func (c class) String() string {
	switch c {
	case cEmpty:
		return "empty"
	case cInt:
		return "int"
	case cDecimal:
		return "dec"
	case cHex:
		return "hex"
	case cUUID:
		return "uuid"
	case cBool:
		return "bool"
	case cWord:
		return "word"
	case cWords:
		return "words"
	case cURL:
		return "url"
	case cEmail:
		return "email"
	case cDate:
		return "date"
	case cToken:
		return "token"
	case cText:
		return "text"
	case cMeta:
		return "meta"
	}
	return "binary"
}

// classify returns the class of v, whose bytes have the kinds k. The order matters: the first class that fits is taken.
func classify(v []byte, k set) class {
	n := len(v)
	switch {
	case n == 0:
		return cEmpty
	case k&kCtl != 0:
		return cBinary
	case k == kDigit:
		return cInt
	case k.within(kLetter):
		return classifyLetters(v, k)
	case k.within(kDigit | kDash | kDot):
		return classifyNumber(v, k)
	case n >= 8 && k.within(kHex):
		return cHex
	case n == 36 && k.within(kHex|kDash) && v[8] == '-' && v[13] == '-' && v[18] == '-' && v[23] == '-':
		return cUUID
	case k.within(kAlnum|kDash|kColon|kDot|kPlus|kSpace) && isDate(v):
		return cDate
	case k.within(kUnreserved):
		return cToken
	case k&kAt != 0 && k.within(kAlnum|kDash|kUnder|kDot|kPlus|kAt) && isEmail(v):
		return cEmail
	case n >= 16 && k&kDigit != 0 && k&kUpper != 0 && k&kLower != 0 &&
		k.within(kAlnum|kDash|kUnder|kPlus|kSlash|kEqual) && v[0] != '/':
		return cToken // base64
	case k&(kSlash|kColon) != 0 && k.within(kUnreserved|kSlash|kColon|kAt|kQuest|kAmp|kHash|kEqual|kPlus|kProse) && isURL(v):
		return cURL
	case k&(kMeta|kPlus) != 0:
		return cMeta
	case k.within(kAlnum | kSpace | kProse | kDash | kDot | kQuest):
		return cWords
	}
	return cText
}

// classifyLetters distinguishes words from random letters.
func classifyLetters(v []byte, k set) class {
	switch string(v) {
	case "true", "false", "True", "False":
		return cBool
	}
	if looksRandom(v, k) {
		return cToken
	}
	return cWord
}

// looksRandom guesses whether letters are random: no language has so many consonants in a row, and no camelCase so many
// capitals.
func looksRandom(v []byte, k set) bool {
	if len(v) < 8 {
		return false
	}
	mixed := k&kLower != 0 && k&kUpper != 0
	limit := 6
	if mixed {
		limit = 5
	}
	run, humps := 0, 0
	for i, c := range v {
		if kindOf(c)&kLetter == 0 {
			run = 0
			continue
		}
		if i > 0 && c < 'a' && v[i-1] >= 'a' {
			humps++
		}
		switch c | 0x20 {
		case 'a', 'e', 'i', 'o', 'u', 'y':
			run = 0
		default:
			if run++; run >= limit {
				return true
			}
		}
	}
	return mixed && len(v) >= 12 && humps*4 > len(v)
}

// classifyNumber distinguishes signed and fractional numbers from dates, addresses, versions and telephone numbers.
func classifyNumber(v []byte, k set) class {
	digits := v
	if v[0] == '-' {
		digits = v[1:]
	}
	switch {
	case len(digits) == 0 || k&kDigit == 0:
		return cText
	case bytes.IndexByte(digits, '-') >= 0:
		if isDate(v) {
			return cDate
		}
		return cToken
	}
	switch dot := bytes.IndexByte(digits, '.'); {
	case dot < 0:
		return cInt
	case bytes.IndexByte(digits[dot+1:], '.') < 0:
		return cDecimal
	}
	return cToken
}

// isDate recognises text that begins like RFC 3339.
func isDate(v []byte) bool {
	if len(v) < 10 || len(v) > 40 || v[4] != '-' || v[7] != '-' {
		return false
	}
	for _, i := range [...]int{0, 1, 2, 3, 5, 6, 8, 9} {
		if v[i] < '0' || v[i] > '9' {
			return false
		}
	}
	return len(v) == 10 || v[10] == 'T' || v[10] == ' '
}

func isEmail(v []byte) bool {
	at := bytes.IndexByte(v, '@')
	return at > 0 && bytes.IndexByte(v[at+1:], '@') < 0 && bytes.IndexByte(v[at+1:], '.') > 0
}

// isURL accepts absolute URLs and paths.
func isURL(v []byte) bool {
	if v[0] == '/' || v[0] == '.' {
		return true
	}
	if i := bytes.IndexByte(v, ':'); i > 1 {
		return bytes.HasPrefix(v[i:], []byte("://"))
	}
	return bytes.IndexByte(v, '/') > 0
}

// appendClass appends the class of a value. For classes in which the length says something, it also appends the bucket of
// the length: its number of bits.
func appendClass(dst, v []byte, k set) []byte {
	c := classify(v, k)
	dst = append(dst, c.String()...)
	switch c {
	case cEmpty, cUUID, cBool, cDate:
		return dst
	}
	return appendBucket(dst, int64(len(v)))
}

// appendBucket appends the bucket of a length: 0, 1, 2–3, 4–7, 8–15 and so on.
func appendBucket(dst []byte, n int64) []byte { return appendBits(dst, byte(bits.Len64(uint64(n)))) }

// appendBits appends a bucket.
func appendBits(dst []byte, b byte) []byte {
	if b >= 10 {
		dst = append(dst, '0'+b/10)
	}
	return append(dst, '0'+b%10)
}

// maxName bounds the names that a skeleton spells out.
const maxName = 40

// appendName appends a parameter's or member's name, or its class if the name itself looks like data: maps that are keyed
// by ids must not have a shape per id.
func appendName(dst, v []byte, k set) []byte {
	if isLiteral(v, k) {
		return append(dst, v...)
	}
	return append(append(append(dst, '<'), classify(v, k).String()...), '>')
}

// isLiteral reports whether a name looks like a chosen word and not like an id. Words may have one short run of digits: v2,
// k8s, sha256.
func isLiteral(v []byte, k set) bool {
	n := len(v)
	if n == 0 || n > maxName || !k.within(kName) || looksRandom(v, k) || k&kAt != 0 && bytes.IndexByte(v, '@') > 0 {
		return false // @type is a word, an address is none
	}
	if k&kDigit == 0 {
		return true
	}
	if n >= 8 && k.within(kHex|kDash) {
		return false
	}
	digits, runs, last := 0, 0, -2
	for i, c := range v {
		if c >= '0' && c <= '9' {
			if digits++; i != last+1 {
				runs++
			}
			last = i
		}
	}
	return runs == 1 && digits <= 3 && digits < n && (n <= 12 || last == n-1)
}

// kindsOf returns the union of the kinds of all bytes of v.
func kindsOf(v []byte) (k set) {
	for _, c := range v {
		k |= kindOf(c)
	}
	return k
}
