package crash

import "strings"

// gate says at one look at a line which languages it may concern, so that the
// plain lines of a log are not asked about once for every language. It is
// found by the words that entries of the table name as their signs, all in one
// pass (as marks does it, in a table that fits the processor's nearest cache).
type gate struct {
	always uint32 // languages that name no signs
	starts [256]uint32
	shift  [gateSize]uint8
	ends   [gateSize][]sign // by what the first signLen bytes end in
}

// sign is a word and the languages that wait for it.
type sign struct {
	word  string
	langs uint32
}

const (
	signLen  = 4 // what every sign has at least
	gateSize = 1 << 12
	// gateFrom is how many bytes of text make building a gate worth it.
	gateFrom = 16 << 10
)

func gateHash(a, b byte) int { return (int(a)*61 ^ int(b)) & (gateSize - 1) }

// newGate returns the gate of a table of at most 32 languages.
func newGate(table []language) *gate {
	g := &gate{}
	for i := range g.shift {
		g.shift[i] = signLen - 1
	}
	for k, lang := range table {
		bit := uint32(1) << k
		if lang.signs == nil {
			g.always |= bit
		}
		for _, c := range []byte(lang.starts) {
			g.starts[c] |= bit
		}
		for _, word := range lang.signs {
			g.add(word, bit)
		}
	}
	return g
}

func (g *gate) add(word string, bit uint32) {
	for i := 1; i < signLen; i++ {
		h := gateHash(word[i-1], word[i])
		g.shift[h] = min(g.shift[h], uint8(signLen-1-i))
	}
	h := gateHash(word[signLen-2], word[signLen-1])
	for i, s := range g.ends[h] {
		if s.word == word {
			g.ends[h][i].langs |= bit
			return
		}
	}
	g.ends[h] = append(g.ends[h], sign{word, bit})
}

// asks returns the languages that l may concern.
func (g *gate) asks(l string) uint32 {
	mask := g.always | g.starts[l[0]]
	for i := signLen - 1; i < len(l); {
		h := gateHash(l[i-1], l[i])
		if s := g.shift[h]; s > 0 {
			i += int(s)
			continue
		}
		for _, s := range g.ends[h] {
			if s.langs&^mask != 0 && strings.HasPrefix(l[i-signLen+1:], s.word) {
				mask |= s.langs
			}
		}
		i++
	}
	return mask
}
