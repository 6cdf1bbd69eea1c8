// Package jsonparts takes JSON apart one level at a time, without copies. It is for text of strangers: [encoding/json.Decoder]
// allocates for each part, and takes fifteen times as long for a list of half a million numbers.
package jsonparts

import (
	"bytes"
	"encoding/json"
	"iter"
	"unicode/utf8"
)

// space are the characters between values.
const space = " \t\r\n"

// Valid returns the value of a text without the space around it; nil if the text is not JSON.
func Valid(text []byte) []byte {
	if !json.Valid(text) {
		return nil
	}
	return bytes.Trim(text, space)
}

// Of iterates over the elements of a list or the members of an object that [Valid] or Of returned. The name of a member
// has its quotes; in a list it is nil. Any other value has no parts.
func Of(value []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, part []byte) bool) {
		if value[0] != '[' && value[0] != '{' {
			return
		}
		for rest := value[1:]; ; {
			var name []byte
			if rest = bytes.TrimLeft(rest, space+","); rest[0] == ']' || rest[0] == '}' {
				return
			}
			if value[0] == '{' {
				name = rest[:end(rest)]
				rest = bytes.TrimLeft(rest[len(name):], space+":")
			}
			part := rest[:end(rest)]
			if rest = rest[len(part):]; !yield(name, part) {
				return
			}
		}
	}
}

// Text returns the text of a string with its quotes. It may be a part of the string.
func Text(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 && utf8.Valid(quoted) {
		return quoted[1 : len(quoted)-1]
	}
	var s string
	if json.Unmarshal(quoted, &s) != nil { // it is valid
		return nil
	}
	return []byte(s)
}

// end returns where the first value of a valid text ends.
func end(text []byte) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			for i++; text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
			continue
		case '}', ']':
			if depth--; depth < 0 { // after a number or word
				return i
			}
		case ',', ':', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
			continue
		default:
			continue
		}
		if depth == 0 {
			return i + 1
		}
	}
	return len(text)
}
