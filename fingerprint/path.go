package fingerprint

import (
	"bytes"
	"strings"
)

// appendPath appends the path's normal form: RFC 3986 escapes, no dot segments. A path with a broken escape stays
// unchanged; no normal form looks like it.
func appendPath(dst []byte, path string) []byte {
	if path == "" {
		return append(dst, '/')
	}
	var k set
	for i := range len(path) {
		k |= kindOf(path[i])
	}
	if k.within(kPathPlain) && (k&kDot == 0 || path[0] != '/' || !strings.Contains(path, "/.")) {
		return append(dst, path...)
	}
	start := len(dst)
	dst, ok := appendEscaped(dst, path)
	if !ok {
		return append(dst[:start], path...)
	}
	if dst[start] == '/' {
		dst = removeDots(dst, start)
	}
	return dst
}

// appendEscaped escapes what a path must not contain, decodes unneeded escapes, and reports whether every escape was
// complete.
func appendEscaped(dst []byte, path string) ([]byte, bool) {
	for i := 0; i < len(path); i++ {
		c := path[i]
		plain := kPathPlain
		if c == '%' {
			if i+2 >= len(path) {
				return dst, false
			}
			hi, lo := unhex(path[i+1]), unhex(path[i+2])
			if hi > 15 || lo > 15 {
				return dst, false
			}
			c = hi<<4 | lo
			plain = kUnreserved
			i += 2
		}
		dst = appendByte(dst, c, plain)
	}
	return dst, true
}

// appendByte appends c, escaped if it is not in plain.
func appendByte(dst []byte, c byte, plain set) []byte {
	if kindOf(c)&plain != 0 {
		return append(dst, c)
	}
	const digits = "0123456789ABCDEF"
	return append(dst, '%', digits[c>>4], digits[c&15])
}

// unhex returns the value of a hexadecimal digit, or more than 15.
func unhex(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10
	}
	return 255
}

// removeDots resolves the segments "." and ".." of the path b[start:], which begins with a slash, in place. It keeps empty
// segments.
func removeDots(b []byte, start int) []byte {
	w := start
	for i := start; i < len(b); {
		end := bytes.IndexByte(b[i+1:], '/')
		if end < 0 {
			end = len(b)
		} else {
			end += i + 1
		}
		last := end == len(b)
		switch string(b[i+1 : end]) {
		case ".":
		case "..":
			w = start + max(0, bytes.LastIndexByte(b[start:w], '/'))
		default:
			w += copy(b[w:], b[i:end])
			last = false
		}
		if last {
			b[w] = '/'
			w++
		}
		i = end
	}
	return b[:w]
}

// maxSegments bounds the segments that a template spells out.
const maxSegments = 16

// appendTemplate appends the route template of a canonical path: words stay, segments that look like data are replaced by
// their class.
func (s *scratch) appendTemplate(dst, path []byte) []byte {
	if path[0] != '/' {
		return appendName(dst, path, kindsOf(path))
	}
	for n := 0; len(path) > 0; n++ {
		if n == maxSegments {
			return appendBucket(append(dst, "/+"...), int64(bytes.Count(path, []byte("/"))))
		}
		end := bytes.IndexByte(path[1:], '/') + 1
		if end == 0 {
			end = len(path)
		}
		dst = s.appendSegment(append(dst, '/'), path[1:end])
		path = path[end:]
	}
	return dst
}

// appendSegment appends one segment of a template.
func (s *scratch) appendSegment(dst, v []byte) []byte {
	k := kindsOf(v)
	if len(v) == 0 {
		return dst
	}
	if (v[0] == '@' || v[0] == '~') && len(v) > 1 { // somebody's name
		return appendSegmentClass(append(dst, v[0]), v[1:], kindsOf(v[1:]))
	}
	if isLiteral(v, k) && !isSlug(v, k) {
		return append(dst, v...)
	}
	if k&kHash != 0 {
		v, k = s.unescape(v)
	}
	if k&kAt != 0 && classify(v, k) == cEmail { // not a file name
		return appendSegmentClass(dst, v, k)
	}
	// A file's name is data, but its extension is not.
	if dot := bytes.LastIndexByte(v, '.'); dot > 0 && dot < len(v)-1 && len(v)-dot <= 6 {
		if ext := v[dot+1:]; isLiteral(ext, kindsOf(ext)) {
			dst = appendSegmentClass(dst, v[:dot], kindsOf(v[:dot]))
			return append(append(dst, '.'), ext...)
		}
	}
	return appendSegmentClass(dst, v, k)
}

// appendSegmentClass leaves out the lengths of ids: /user/9 and /user/10 are one route.
func appendSegmentClass(dst, v []byte, k set) []byte {
	c := classify(v, k)
	dst = append(append(dst, '<'), c.String()...)
	switch c {
	case cWords, cText, cMeta, cBinary, cURL:
		dst = appendBucket(dst, int64(len(v)))
	}
	return append(dst, '>')
}

// isSlug recognises titles-made-into-segments.
func isSlug(v []byte, k set) bool {
	return k&(kDash|kUnder) != 0 && bytes.Count(v, []byte("-"))+bytes.Count(v, []byte("_")) >= 4
}

// unescape decodes a canonical segment into tmp. A broken escape stays unchanged.
func (s *scratch) unescape(v []byte) (out []byte, k set) {
	s.tmp = s.tmp[:0]
	for i := 0; i < len(v); i++ {
		c := v[i]
		if c == '%' && i+2 < len(v) {
			if hi, lo := unhex(v[i+1]), unhex(v[i+2]); hi <= 15 && lo <= 15 {
				c = hi<<4 | lo
				i += 2
			}
		}
		k |= kindOf(c)
		s.tmp = append(s.tmp, c)
	}
	return s.tmp, k
}
