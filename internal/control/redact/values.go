package redact

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strings"
	"sync"

	"github.com/bezoar-dev/bezoar"
)

// Limits of known values.
const (
	MinValue  = 6   // bytes; shorter values would hide ordinary words
	MaxValues = 16  // of one request
	maxKept   = 512 // bytes of each value; longer values are matched by this prefix and hidden with the rest
	linger    = 256 // finished requests whose values stay known, because a worker's output may be read later
	chainBits = 12
)

// Values is a set of secret values, such as the credentials of the requests in flight.
// Adding and removing a value takes time linear in its length; searching takes time linear
// in the text. The zero value is ready to use; nil is an empty set.
type Values struct {
	mu     sync.Mutex             // guards the fields below
	chain  [1 << chainBits]*value // by the last 4 bytes, because tokens have similar beginnings
	ended  [linger]*Held          // of finished requests; the oldest is at oldest
	oldest int
	spare  []*Held
}

type value struct {
	text []byte
	held int // number of requests with this value
	next *value
}

// Held holds the values of one request.
type Held struct {
	of   *Values
	n    int
	vals [MaxValues]*value
}

func Known(secrets ...string) *Values {
	v := new(Values)
	for chunk := range slices.Chunk(secrets, MaxValues) {
		h := v.Hold()
		for _, s := range chunk {
			h.Add(s)
		}
	}
	return v
}

// Hold starts a request. Its values stay known until linger more requests have ended after
// it; see [Held.End].
func (v *Values) Hold() *Held {
	v.mu.Lock()
	defer v.mu.Unlock()
	if n := len(v.spare); n > 0 {
		h := v.spare[n-1]
		v.spare = v.spare[:n-1]
		return h
	}
	return &Held{of: v}
}

// Add adds a value, unless it is too short or there are too many.
func (h *Held) Add(secret string) {
	if len(secret) < MinValue || h.n == MaxValues {
		return
	}
	secret = secret[:min(len(secret), maxKept)]
	v := h.of
	v.mu.Lock()
	defer v.mu.Unlock()
	at := &v.chain[hash(secret)]
	val := *at
	for val != nil && string(val.text) != secret {
		val = val.next
	}
	if val == nil {
		val = &value{text: []byte(secret), next: *at}
		*at = val
	}
	val.held++
	h.vals[h.n] = val
	h.n++
}

// AddCookies adds the value of a Cookie header: the whole text, cookies with names of
// secrets, and cookies that look like tokens. Other cookies are ordinary words, such as a
// language or a theme, and hiding them would hide these words everywhere.
func (h *Held) AddCookies(text string, names Names) {
	h.Add(text)
	for pair := range strings.SplitSeq(text, ";") {
		name, cookie, _ := strings.Cut(pair, "=")
		if cookie = strings.Trim(cookie, ` "`); len(cookie) < MinValue || !token(cookie) && !names.Secret(strings.TrimSpace(name)) {
			continue
		}
		h.Add(cookie)
		if plain := unescaped(cookie); plain != cookie {
			h.Add(plain)
		}
	}
}

// Minimum lengths of tokens: with letters and digits, and in any case.
const (
	mixedToken = 12
	longToken  = 24
)

func token(s string) bool {
	letter := func(r rune) bool { return 'a' <= r|0x20 && r|0x20 <= 'z' }
	return len(s) >= longToken || len(s) >= mixedToken && strings.ContainsAny(s, "0123456789") && strings.ContainsFunc(s, letter)
}

// AddCredentials adds the value of a header or a parameter, and the forms that programs
// derive from it: the credentials after the scheme, the decoded credentials of Basic, and
// each of several values.
func (h *Held) AddCredentials(text string) {
	h.Add(text)
	kind, rest, ok := strings.Cut(text, " ")
	switch {
	case ok && strings.EqualFold(kind, "basic"):
		h.Add(rest)
		if clear, err := base64.StdEncoding.DecodeString(rest); err == nil {
			_, password, _ := strings.Cut(string(clear), ":")
			h.Add(password)
		}
	case ok && strings.IndexByte(kind, '=') < 0: // an authentication scheme
		h.Add(rest)
	case strings.IndexByte(text, ';') >= 0 || strings.IndexByte(text, '=') > 0:
		for pair := range strings.SplitSeq(text, ";") {
			_, one, _ := strings.Cut(pair, "=")
			h.Add(strings.Trim(one, ` "`))
		}
	}
	if plain := unescaped(text); plain != text {
		h.Add(plain)
	}
}

// End ends the request. h must not be used afterwards.
func (h *Held) End() {
	v := h.of
	v.mu.Lock()
	defer v.mu.Unlock()
	old := v.ended[v.oldest]
	v.ended[v.oldest] = h
	v.oldest = (v.oldest + 1) % linger
	if old == nil {
		return
	}
	for _, val := range old.vals[:old.n] {
		v.forget(val)
	}
	old.n = 0
	if len(v.spare) < linger {
		v.spare = append(v.spare, old)
	}
}

func (v *Values) forget(val *value) {
	if val.held--; val.held > 0 {
		return
	}
	for at := &v.chain[hash(val.text)]; *at != nil; at = &(*at).next {
		if *at == val {
			*at = val.next
			return
		}
	}
}

// hash hashes the bytes by which a value is searched.
func hash[T string | []byte](text T) uint32 {
	n := len(text)
	return (uint32(text[n-4]) | uint32(text[n-3])<<8 | uint32(text[n-2])<<16 | uint32(text[n-1])<<24) * 0x9e3779b1 >> (32 - chainBits)
}

// Hide returns line without the values. It returns line itself if it contains none.
func (v *Values) Hide(line []byte) []byte {
	if v == nil {
		return line
	}
	found := v.find(line)
	if len(found) == 0 {
		return line
	}
	var out []byte
	at := 0
	for _, f := range found {
		out = append(append(out, line[at:f.from]...), bezoar.Redacted...)
		at = f.to
	}
	return append(out, line[at:]...)
}

type span struct{ from, to int }

// find returns the ranges of values, in order. Overlapping ranges are merged.
func (v *Values) find(line []byte) (found []span) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for end := MinValue; end <= len(line); end++ {
		for val := v.chain[hash(line[:end])]; val != nil; val = val.next {
			if !bytes.HasSuffix(line[:end], val.text) {
				continue
			}
			s := span{end - len(val.text), end}
			if len(val.text) == maxKept { // the rest is unknown
				for s.to < len(line) && line[s.to] > ' ' && line[s.to] < 0x7f && line[s.to] != '"' && line[s.to] != '\'' {
					s.to++
				}
			}
			for n := len(found) - 1; n >= 0 && found[n].to > s.from; n-- {
				s = span{min(s.from, found[n].from), max(s.to, found[n].to)}
				found = found[:n]
			}
			found = append(found, s)
		}
	}
	return found
}
