package blame

import (
	"encoding/binary"

	"github.com/bezoar-dev/bezoar"
)

// MaxFeatures bounds the features of one piece of work.
const MaxFeatures = 64

// Traits says what a caller sent in finer grain than the fingerprint. The state
// asks only for work that a death has made interesting: in [State.Admit], and in
// [State.Crash] for what is in flight. So the traits must stay readable until
// the ticket is closed. The calls come with the caller's lock held.
type Traits interface {
	// Variant returns the keyed hash of what the caller sent, without what
	// differs in every request. Copies of one variant have one fingerprint.
	Variant() bezoar.Fingerprint
	// Endpoint returns the keyed hash of the method and the path, with what looks
	// like data in it replaced: shapes that differ only in what is sent there have
	// one endpoint. Zero: its shape says enough.
	Endpoint() bezoar.Fingerprint
	// Features appends the keyed hashes of what the work consists of: header
	// fields, cookies, parameters and members of the body, each by its name and
	// by its name and value, and the caller. At most [MaxFeatures].
	Features(dst []uint64) []uint64
	// Text describes a feature for people, without secrets: "header X-Theme:
	// neon". It returns "" for a feature that the work does not have.
	Text(feature uint64) string
}

// variant returns what the work is convicted by: its variant, or its fingerprint
// when it has no traits. It asks the traits once, and keeps the answer in w.
func (w *Work) variant() bezoar.Fingerprint {
	if w.Variant.IsZero() {
		w.Variant = w.Fingerprint
		if w.Traits != nil {
			w.Variant = w.Traits.Variant()
		}
	}
	return w.Variant
}

// endpoint returns what the work's shape is one of; zero without traits. It asks the
// traits once, and keeps the answer in w.
func (w *Work) endpoint() bezoar.Fingerprint {
	if w.Endpoint.IsZero() && w.Traits != nil {
		w.Endpoint = w.Traits.Endpoint()
	}
	return w.Endpoint
}

// whole reports whether the work is known by its fingerprint alone.
func (w *Work) whole() bool { return w.Variant == w.Fingerprint }

// kept is w as it may be remembered when its traits are gone.
func (w *Work) kept() Work {
	k := *w
	k.Traits, k.Waited = nil, false
	return k
}

// features appends the work's features to dst, or nothing without traits.
func (w *Work) features(dst []uint64) []uint64 {
	if w.Traits == nil {
		return dst
	}
	return w.Traits.Features(dst)
}

// keyOf returns the key under which a verdict on fingerprint and features is
// held.
func keyOf(fp, client bezoar.Fingerprint, features []uint64) bezoar.Fingerprint {
	lo, hi := binary.LittleEndian.Uint64(fp[:8])^0x9e3779b97f4a7c15, binary.LittleEndian.Uint64(fp[8:])
	lo ^= binary.LittleEndian.Uint64(client[:8])
	hi ^= binary.LittleEndian.Uint64(client[8:])
	for _, f := range features { // keyed hashes already, and their order does not matter
		lo ^= f
		hi += f
	}
	var key bezoar.Fingerprint
	binary.LittleEndian.PutUint64(key[:8], lo)
	binary.LittleEndian.PutUint64(key[8:], hi)
	return key
}
