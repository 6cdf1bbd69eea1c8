// Package requestid makes and checks the ids of requests.
package requestid

import (
	"encoding/hex"
	"math/rand/v2"
)

// maxID bounds the request ids that are kept.
const maxID = 128

// New returns a unique id.
func New() string {
	var raw [16]byte
	var text [32]byte
	a, b := rand.Uint64(), rand.Uint64()
	for i := range 8 {
		raw[i], raw[8+i] = byte(a>>(8*i)), byte(b>>(8*i))
	}
	hex.Encode(text[:], raw[:])
	return string(text[:])
}

// Valid reports whether a caller's id is safe for logs.
func Valid(s string) bool {
	if s == "" || len(s) > maxID {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case c == '-' || c == '_' || c == '.' || c == ':' || c == '/' || c == '+' || c == '=':
		default:
			return false
		}
	}
	return true
}
