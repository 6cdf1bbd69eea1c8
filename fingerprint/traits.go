package fingerprint

import "github.com/bezoar-dev/bezoar"

// Traits answers questions about one request: what exactly the caller sent, and which
// features it has. It computes hashes when it is asked, keeps nothing, and allocates only
// for texts. Input, and everything that it refers to, must not change while Traits is in
// use. It is safe for concurrent use.
type Traits struct {
	Printer *Printer
	Input   *Input
	Caller  bezoar.Fingerprint // counts as a feature; zero if callers are not told apart
	// Bound makes the caller part of the variant. Use it if the caller sends more after
	// the request, as with an upgrade.
	Bound bool
	// Query says that the shape is that of a query, which says more than the place that it
	// was sent to. There is no endpoint then.
	Query bool
}

// Variant returns [Printer.Variant] of the request.
func (t *Traits) Variant() bezoar.Fingerprint {
	if t.Bound {
		return t.Printer.Variant(t.Input, t.Caller)
	}
	return t.Printer.Variant(t.Input, bezoar.Fingerprint{})
}

// Endpoint returns [Printer.Endpoint] of the request, and zero for a query.
func (t *Traits) Endpoint() bezoar.Fingerprint {
	if t.Query {
		return bezoar.Fingerprint{}
	}
	return t.Printer.Endpoint(t.Input)
}

// Features appends [Printer.Features] of the request to dst.
func (t *Traits) Features(dst []uint64) []uint64 {
	return t.Printer.Features(t.Input, t.Caller, dst)
}

// Text returns [Printer.FeatureText] of the request, or "" for a feature that it
// does not have.
func (t *Traits) Text(feature uint64) string {
	text, _ := t.Printer.FeatureText(t.Input, t.Caller, feature)
	return text
}
