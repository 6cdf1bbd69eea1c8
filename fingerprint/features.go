package fingerprint

import (
	"encoding/binary"
	"slices"

	"github.com/bezoar-dev/bezoar"
)

// MaxFeatures bounds the features of one request.
const MaxFeatures = 64

// These numbers of features are reserved for properties that a request has once (method, caller, length of the body), and
// for marks of groups that were cut.
const (
	singles = 3
	groups  = 5
)

// kind is the kind of a feature, in its upper four bits. The kind of a value follows the kind of its name.
type kind uint64

const (
	ofHeader kind = iota + 1
	ofHeaderValue
	ofCookie
	ofCookieValue
	ofQuery
	ofQueryValue
	ofForm
	ofFormValue
	ofMember
	ofMemberValue
	ofMethod
	ofBody
	ofCaller
	ofMany
)

const kindShift = 60

// group returns the group, from 1 to groups, of a kind of which a request may have many; otherwise 0.
func (k kind) group() uint64 {
	if k >= ofMethod {
		return 0
	}
	return uint64(k+1) / 2
}

// many returns the feature of work that has more in a group than is kept.
func many(group uint64) uint64 { return uint64(ofMany)<<kindShift | group }

// featureSet holds the features that one run has found.
type featureSet struct {
	key     sipKey
	kinds   [ofMany]lowest
	encoded bool   // the body has a Content-Encoding
	whole   bool   // the bytes that are read are the complete body
	path    []byte // of the JSON member
	want    uint64 // for FeatureText; 0: none
	text    string // the text for want
}

// lowest keeps the lowest features of one kind, each once, in order.
type lowest struct {
	n    int
	more bool // there were others
	is   [MaxFeatures]uint64
}

func (l *lowest) add(f uint64) {
	if l.n == MaxFeatures && f >= l.is[MaxFeatures-1] {
		l.more = l.more || f > l.is[MaxFeatures-1]
		return
	}
	i, found := slices.BinarySearch(l.is[:l.n], f)
	if found {
		return
	}
	if l.n == MaxFeatures {
		l.more = true
		l.n--
	}
	copy(l.is[i+1:l.n+1], l.is[i:l.n])
	l.is[i] = f
	l.n++
}

// Features appends the features of the request to dst, at most MaxFeatures, in rising
// order. They are keyed hashes of single properties, and tell work that kills from work
// that does not. Printer.FeatureText describes them.
//
// If there are more, each kind of feature keeps an equal share, and within a kind the
// lowest hashes are kept. So a caller cannot choose which ones are left out, and
// parameters never displace headers. If a group was cut, the work has a feature that says
// so ("many cookies").
func (p *Printer) Features(in *Input, client bezoar.Fingerprint, dst []uint64) []uint64 {
	s := p.pool.Get().(*scratch)
	s.traits(p, in, client, 0)
	dst = s.feat.choose(dst)
	p.put(s)
	return dst
}

// Lacks reports whether work with these features, as Features returned them, certainly
// does not have feature. A feature that is missing from the list may have been cut, or may
// be in a part of the body that was not read.
func Lacks(features []uint64, feature uint64) bool {
	k := kind(feature >> kindShift)
	group := k.group()
	cut, most := false, uint64(0)
	for _, f := range features {
		switch {
		case f == feature:
			return false
		case kind(f>>kindShift) == k:
			most = max(most, f)
		case group != 0 && f == many(group):
			cut = true
		case kind(f>>kindShift) == ofBody && k >= ofForm && k <= ofMemberValue:
			return false
		}
	}
	return !cut || feature < most
}

// traits collects the features of the request. It also makes the text for want.
func (s *scratch) traits(p *Printer, in *Input, client bezoar.Fingerprint, want uint64) {
	if s.feat == nil {
		s.feat = new(featureSet)
	}
	f := s.feat
	f.key, f.want, f.text, f.encoded, f.path = p.featureKey, want, "", false, f.path[:0]
	for k := range f.kinds {
		f.kinds[k].n, f.kinds[k].more = 0, false
	}
	s.buf, s.skel = s.buf[:0], s.skel[:0]

	s.buf = append(s.buf, in.Method...)
	if f.wants(s.feature(ofMethod, 0, s.buf)) {
		f.text = "method " + shown(s.buf, maxNameText)
	}
	if !client.IsZero() && f.wants(s.feature(ofCaller, 0, client[:])) {
		f.text = "the same caller"
	}
	s.buf = s.buf[:0]
	if in.Fields != nil {
		s.connection(p, in.Fields)
		for i := range in.Fields.NumField() {
			name, value := in.Fields.Field(i)
			s.headerFeatures(p, name, value)
			s.buf = s.buf[:0]
		}
	}
	s.in = append(s.in[:0], in.RawQuery...)
	s.pairFeatures(ofQuery, s.in, true)
	s.bodyFeatures(p, in)
}

func (f *featureSet) wants(feature uint64) bool { return feature == f.want }

// feature adds the feature of kind k with the bytes b below parent, and returns it.
func (s *scratch) feature(k kind, parent uint64, b []byte) uint64 {
	at := len(s.buf)
	s.buf = binary.LittleEndian.AppendUint64(append(s.buf, byte(k)), parent)
	s.buf = append(s.buf, b...)
	f := uint64(k)<<kindShift | sip64(s.feat.key, s.buf[at:])>>(64-kindShift)
	s.buf = s.buf[:at]
	s.feat.kinds[k].add(f)
	return f
}

// choose appends the features that are kept.
func (f *featureSet) choose(dst []uint64) []uint64 {
	var keep [ofMany]int
	total, cut := 0, false
	for k := ofHeader; k < ofMany; k++ {
		keep[k] = f.kinds[k].n
		if k.group() != 0 {
			total += keep[k]
			cut = cut || f.kinds[k].more
		}
	}
	if cut = cut || total > MaxFeatures-singles; cut {
		share(keep[ofHeader:ofMethod], MaxFeatures-singles-groups)
	}
	var flags [groups + 1]bool
	for k := ofHeader; k < ofMany; k++ {
		l := &f.kinds[k]
		dst = append(dst, l.is[:keep[k]]...)
		if l.more || keep[k] < l.n {
			flags[k.group()] = true
		}
	}
	for g := uint64(1); g <= groups; g++ {
		if flags[g] {
			dst = append(dst, many(g))
		}
	}
	return dst
}

// share lowers counts until their sum is at most budget. Counts below an equal share stay, and the others get what is left.
func share(counts []int, budget int) {
	var settled [ofMany]bool
	left := len(counts)
	for again := true; again && left > 0; {
		again = false
		each := budget / left
		for i, n := range counts {
			if !settled[i] && n <= each {
				settled[i], again = true, true
				budget -= n
				left--
			}
		}
	}
	for i := range counts {
		if !settled[i] {
			each := (budget + left - 1) / left
			counts[i] = min(counts[i], each)
			budget -= counts[i]
			left--
		}
	}
}
