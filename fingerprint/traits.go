package fingerprint

import "github.com/bezoar-dev/bezoar"

// Traits answers for one request: what exactly the caller sent, and which
// features it has. It hashes when it is asked and keeps nothing, so it costs
// nothing until then; asking allocates nothing but texts. Input must not change,
// and what it refers to must stay readable, as long as somebody may ask. Several
// may ask at once.
type Traits struct {
	Printer *Printer
	Input   *Input
	Caller  bezoar.Fingerprint // is a feature; zero when callers are not told apart
	// Bound makes the caller part of the variant: what it sends does not end with
	// the request, as with an upgrade.
	Bound bool
	// Query says that the shape is not the Printer's but that of a query, which tells
	// more than where it was sent: there is no endpoint.
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
