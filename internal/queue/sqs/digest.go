package sqs

import (
	"crypto/md5" //nolint:gosec // a checksum that clients compare, not a safeguard
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bezoar-dev/bezoar/queue"
)

func isBinary(a queue.Attribute) bool { return strings.HasPrefix(a.DataType, "Binary") }

// digest returns the MD5 of a body in hexadecimal digits.
func digest(body []byte) string {
	sum := md5.Sum(body) //nolint:gosec // as above
	return hex.EncodeToString(sum[:])
}

// digestOf returns the MD5 of the named attributes as clients compute it. In the order of names, each attribute contributes
// the lengths (big-endian, 4 bytes) and texts of its name and its full type, a byte for the transport of the value (1 text,
// 2 bytes), and the value with its length. Names must be sorted; without names there is no digest.
func digestOf(all map[string]queue.Attribute, names []string) string {
	if len(names) == 0 {
		return ""
	}
	var buf []byte
	field := func(s string) {
		buf = binary.BigEndian.AppendUint32(buf, uint32(len(s)))
		buf = append(buf, s...)
	}
	for _, name := range names {
		a := all[name]
		field(name)
		field(a.DataType)
		if isBinary(a) {
			buf = append(buf, 2)
			buf = binary.BigEndian.AppendUint32(buf, uint32(len(a.Binary)))
			buf = append(buf, a.Binary...)
			continue
		}
		buf = append(buf, 1)
		field(a.String)
	}
	return digest(buf)
}

// sortedNames returns the sorted names of the attributes that want accepts; a nil want accepts all.
func sortedNames(all map[string]queue.Attribute, want func(string) bool) []string {
	if len(all) == 0 {
		return nil
	}
	names := make([]string, 0, len(all))
	for name := range all {
		if want == nil || want(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// legal reports whether a text has only characters that SQS accepts: #x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD |
// #x10000 to #x10FFFF.
func legal[T string | []byte](s T) bool {
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c < ' ' && c != '\t' && c != '\n' && c != '\r':
			return false
		case c < utf8.RuneSelf:
			i++
			continue
		}
		size := runeAt(s, i)
		if size == 0 || beyondXML(s, i, size) {
			return false
		}
		i += size
	}
	return true
}
