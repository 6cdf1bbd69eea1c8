package admission

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
)

// maxParts bounds the parts of a key.
const maxParts = 4

// Identity is a request as admission sees it, over any wire.
type Identity interface {
	// HeaderValue returns the value of the header field with this lower-case name. clear is false if the field is repeated
	// with another value. Names are equal if they differ only in - and _ or other signs, because many workers treat them as
	// equal.
	HeaderValue(lower string) (value string, clear bool)
	// Address returns the caller's address: the last one that a trusted proxy vouches for.
	Address() string
}

// kind is the kind of one part of a key.
type kind uint8

const (
	byRoute   kind = 'r'
	byHeader  kind = 'h'
	byClaim   kind = 'c'
	byAddress kind = 'a'
)

// Key identifies callers: a parsed Limit.Key or Config.Client.
type Key struct {
	parts []part
}

type part struct {
	kind kind
	name string // of the header, in lower case with - for _, or of the claim
}

// ParseKey reads a key. client replaces the word "client"; nil if the word is not allowed.
func ParseKey(s string, client *Key) (*Key, error) {
	k := new(Key)
	for word := range strings.SplitSeq(s, "+") {
		of, name, named := strings.Cut(word, ":")
		switch {
		case word == "ip":
			k.parts = append(k.parts, part{kind: byAddress})
		case word == "route":
			k.parts = append(k.parts, part{kind: byRoute})
		case word == "client" && client != nil:
			k.parts = append(k.parts, client.parts...)
		case named && of == "header" && h1.Token(name):
			k.parts = append(k.parts, part{byHeader, h1.LowerName(name)})
		case named && of == "jwt" && name != "":
			k.parts = append(k.parts, part{byClaim, name})
		default:
			return nil, fmt.Errorf("has %q, want ip, header:NAME, jwt:CLAIM, route, or a client that the route names, joined by +", word)
		}
	}
	if len(k.parts) > maxParts {
		return nil, fmt.Errorf("has %d parts, want at most %d", len(k.parts), maxParts)
	}
	return k, nil
}

// errRepeated says that a header that identifies callers has two values. A worker might believe either, so neither can be
// counted.
var errRepeated = errors.New("the header that identifies the caller is repeated")

// sum returns the keyed hash of the caller that k identifies. Hashes of different callers differ, as far as 128 bits allow,
// and cannot be guessed without the secret.
func (k *Key) sum(secret *[32]byte, m *ClientCache, a Identity, route string) ([16]byte, error) {
	b := append(m.buf[:0], secret[:]...)
	for i := range k.parts {
		p := &k.parts[i]
		what, value, err := p.of(m, a, route)
		if err != nil {
			return [16]byte{}, err
		}
		b = append(b, byte(what))
		b = binary.AppendUvarint(b, uint64(len(value)))
		b = append(b, value...)
	}
	m.buf = b
	text := b[len(secret):]
	for i := range m.sums {
		if s := &m.sums[i]; string(s.text) == string(text) {
			return s.sum, nil
		}
	}
	full := sha256.Sum256(b)
	sum := [16]byte(full[:16])
	if len(b) > maxCached {
		m.buf = nil
		return sum, nil
	}
	s := &m.sums[m.used]
	m.used = (m.used + 1) % len(m.sums)
	s.text, s.sum = append(s.text[:0], text...), sum
	return sum, nil
}

// of returns the kind and the value of the part. Callers who do not identify themselves share only their address.
func (p *part) of(m *ClientCache, a Identity, route string) (kind, string, error) {
	switch p.kind {
	case byRoute:
		return byRoute, route, nil
	case byHeader:
		v, clear := a.HeaderValue(p.name)
		if !clear {
			return byHeader, "", errRepeated
		}
		if v != "" {
			return byHeader, v, nil
		}
	case byClaim:
		auth, clear := a.HeaderValue("authorization")
		if !clear {
			return byClaim, "", errRepeated
		}
		if v := m.readClaim(auth, p.name); v != "" {
			return byClaim, v, nil
		}
	case byAddress:
	}
	return byAddress, m.Network(a.Address()), nil
}

// ID returns the caller that k identifies for people: the values, joined by +.
func (k *Key) ID(m *ClientCache, a Identity, route string) string {
	if len(k.parts) == 1 {
		return k.parts[0].said(m, a, route)
	}
	b := m.buf[:0]
	for i := range k.parts {
		if i > 0 {
			b = append(b, '+')
		}
		b = append(b, k.parts[i].said(m, a, route)...)
	}
	if m.buf = b; len(b) > maxCached {
		m.buf = nil
		return string(b)
	}
	if string(b) != m.id {
		m.id = string(b)
	}
	return m.id
}

// said is of for people: a caller without an identity is shown by its address.
func (p *part) said(m *ClientCache, a Identity, route string) string {
	_, v, err := p.of(m, a, route)
	if err != nil {
		return m.Network(a.Address())
	}
	return v
}
