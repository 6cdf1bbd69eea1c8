package fingerprint

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
)

// scratch is the memory of one run: the hashed bytes, the skeleton, and the stacks for sorting members. It is pooled;
// nothing in it is used after a run.
type scratch struct {
	buf   []byte      // secret, tag and canonical request, concatenated
	skel  []byte      // the skeleton
	tmp   []byte      // a decoded value, or a range during sorting
	in    []byte      // the query as bytes
	keys  []member    // a stack: members of the open objects
	items []span      // a stack: their skeletons
	deep  bool        // the JSON was nested more than maxDepth deep
	named []uint64    // hashes of the fields that Connection names
	feat  *featureSet // nil until features are needed
	tag   []byte      // for repeats
	gains [repeatKinds]gain

	// for JSON
	pieces  []piece // lists of members and elements
	list    []piece // a stack: lists of the open objects and arrays
	spare   []byte  // texts that differ from the document's
	fields  []field // a stack: members of the open objects
	ranks   []rank
	layouts layouts
}

// span is a range of buf or skel.
type span struct{ from, to int32 }

// member is one name with its value, "name=value&" or `"name":value,`.
type member struct {
	head uint64 // the name's first eight bytes, so that most comparisons compare one word
	name span
	all  span
}

// run fills buf and skel for one request. The framing is unambiguous: every part has its length, except the body, which is
// last.
func (s *scratch) run(p *Printer, in *Input) {
	s.target(p, in)

	at := s.open()
	if in.RawQuery != "" {
		s.in = append(s.in[:0], in.RawQuery...)
		s.skel = append(s.skel, '?')
		sat := len(s.skel)
		if s.pairs(s.in, p.rules.query); len(s.skel) == sat {
			s.skel = s.skel[:sat-1] // all pairs were ignored
		}
	}
	s.shut(at)

	at = s.open()
	m := s.media(in.ContentType)
	s.shut(at)
	s.headers(p.rules.headers, in.Header)
	s.body(p, in, m)
}

// target begins a run with the method and the path.
func (s *scratch) target(p *Printer, in *Input) {
	s.buf = append(append(s.buf[:0], p.key[:]...), tagWork...)
	s.skel = s.skel[:0]

	at := s.open()
	s.buf = append(s.buf, in.Method...)
	s.skel = appendName(s.skel, s.shut(at), kindsOf(s.buf[at:]))

	s.skel = append(s.skel, ' ')
	at = s.open()
	s.buf = appendPath(s.buf, in.Path)
	s.skel = s.appendTemplate(s.skel, s.shut(at))
}

// open begins a part of unknown length.
func (s *scratch) open() (at int) {
	s.buf = append(s.buf, 0, 0, 0, 0)
	return len(s.buf)
}

// shut writes the length of the part that began at at, and returns the part.
func (s *scratch) shut(at int) []byte {
	part := s.buf[at:]
	binary.BigEndian.PutUint32(s.buf[at-4:], uint32(len(part)))
	return part
}

// headers adds the configured fields. An absent field differs from an empty one.
func (s *scratch) headers(names []string, h Header) {
	s.buf = append(s.buf, byte(len(names)))
	for _, name := range names {
		at := s.open()
		for _, c := range []byte(name) {
			s.buf = append(s.buf, lower(c))
		}
		s.skel = append(append(append(s.skel, ' '), s.shut(at)...), ':')
		s.values(h, name, false)
	}
}

// values adds the values of one field, trimmed, in lower case if fold is true. It reports whether one of them is neither
// empty nor "identity".
func (s *scratch) values(h Header, name string, fold bool) (some bool) {
	var vs []string
	if h != nil {
		vs = h.Values(name)
	}
	s.buf = binary.BigEndian.AppendUint32(s.buf, uint32(len(vs)))
	for i, v := range vs {
		at := s.open()
		for _, c := range []byte(v) {
			if fold {
				c = lower(c)
			}
			s.buf = append(s.buf, c)
		}
		part := bytes.Trim(s.buf[at:], " \t")
		s.buf = append(s.buf[:at], part...)
		part = s.shut(at)
		some = some || len(part) > 0 && string(part) != "identity"
		if !fold {
			if i > 0 {
				s.skel = append(s.skel, ',')
			}
			s.skel = appendClass(s.skel, part, kindsOf(part))
		}
	}
	return some
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c | 0x20
	}
	return c
}

// push adds the member buf[at:], whose name is name, to the stack. It reports whether it is in order after those since
// base.
func (s *scratch) push(base, at int, name span) (ordered bool) {
	if len(s.keys)-base > maxSorted {
		return false // one more than the limit is enough
	}
	m := member{head: s.head8(name), name: name, all: span{int32(at), int32(len(s.buf))}}
	s.keys = append(s.keys, m)
	n := len(s.keys)
	return n-1 == base || s.order(s.keys[n-2], m) <= 0
}

// head8 returns the first eight bytes of a name.
func (s *scratch) head8(name span) (head uint64) {
	if n := s.buf[name.from:]; len(n) >= 8 {
		head = binary.BigEndian.Uint64(n)
		if l := name.to - name.from; l < 8 {
			head &^= 1<<(8*(8-l)) - 1
		}
		return head
	}
	for i, c := range s.buf[name.from:name.to] {
		head |= uint64(c) << (56 - 8*i)
	}
	return head
}

// order compares members by name, byte by byte, and equal names by arrival. head is padded with zero bytes, which sort
// before all others.
func (s *scratch) order(a, b member) int {
	if c := cmp.Compare(a.head, b.head); c != 0 {
		return c
	}
	if c := bytes.Compare(s.buf[a.name.from:a.name.to], s.buf[b.name.from:b.name.to]); c != 0 {
		return c
	}
	return cmp.Compare(a.all.from, b.all.from)
}

// maxSorted bounds the members that are sorted. Good requests rarely have more, and sorting a hostile body would cost fifty
// times as much as reading it. Beyond the bound, members keep their order.
const maxSorted = 1024

// arrange sorts the members since base, which fill buf[start:].
func (s *scratch) arrange(base, start int) {
	ms := s.keys[base:]
	if len(ms) > maxSorted {
		return
	}
	slices.SortFunc(ms, s.order)
	s.tmp = append(s.tmp[:0], s.buf[start:]...)
	out := s.buf[:start]
	for _, m := range ms {
		out = append(out, s.tmp[int(m.all.from)-start:int(m.all.to)-start]...)
	}
}

// Bounds of a skeleton: how many different members of one object, and how many different elements of one array, it spells
// out.
const (
	maxNames    = 64
	maxElements = 8
)

// item adds skel[at:] to the stack of skeletons.
func (s *scratch) item(base, at int) {
	if len(s.items)-base > maxSorted {
		s.skel = s.skel[:at]
		return
	}
	s.items = append(s.items, span{int32(at), int32(len(s.skel))})
}

func (s *scratch) text(p span) []byte { return s.skel[p.from:p.to] }

// unite turns the skeletons since base, which fill skel[start:], into a set: sorted, each once, at most maxNames. So
// neither the order nor the number of equal members matters for the shape. For more than maxSorted it only notes that.
func (s *scratch) unite(base, start int) {
	its := s.items[base:]
	if len(its) > maxSorted {
		s.skel = append(s.skel[:start], '+', s.skel[len(s.skel)-1])
		return
	}
	rising := len(its) <= maxNames
	for i := 1; rising && i < len(its); i++ {
		rising = bytes.Compare(s.text(its[i-1]), s.text(its[i])) < 0
	}
	if rising {
		return
	}
	slices.SortFunc(its, func(a, b span) int { return bytes.Compare(s.text(a), s.text(b)) })
	its = slices.CompactFunc(its, func(a, b span) bool { return bytes.Equal(s.text(a), s.text(b)) })
	s.tmp = append(s.tmp[:0], s.skel[start:]...)
	s.skel = s.skel[:start]
	for i, it := range its {
		if i == maxNames {
			s.skel = append(s.skel, '+', s.skel[len(s.skel)-1])
			break
		}
		s.skel = append(s.skel, s.tmp[int(it.from)-start:int(it.to)-start]...)
	}
}
