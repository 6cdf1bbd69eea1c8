package admission

import (
	"crypto/sha256"
	"encoding/binary"
)

// StaleKey returns the key for the answer to a GET of the target, from the headers that answers may depend on.
func (t *Policy) StaleKey(m *ClientCache, host, target string, value func(name string) string) [16]byte {
	b := append(m.buf[:0], t.secret[:]...)
	for _, s := range [...]string{t.Route, host, target} {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	b = t.Cache.AppendVary(b, value)
	full := sha256.Sum256(b)
	if m.buf = b; cap(b) > maxCached {
		m.buf = nil
	}
	return [16]byte(full[:16])
}

// Credentials reports whether the request has something that identifies a user, so that its answer may be for that user
// only.
func (t *Policy) Credentials(a Identity) bool {
	for _, name := range t.IdentityHeaders {
		if v, clear := a.HeaderValue(name); v != "" || !clear {
			return true
		}
	}
	return false
}
