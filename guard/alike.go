package guard

import (
	"math"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// Alike reports whether two queries of one caller and class are judged alike
// whatever the limits say: whether the same is measured in the same order, but
// for where it stands and how many bytes the bodies have. It counts neither.
func (g *Guard) Alike(a, b *Query) bool {
	if a.Kind != b.Kind || a.Kind.index() < 0 {
		return a.Kind == b.Kind
	}
	c, d := g.scratches.Get().(*scratch), g.scratches.Get().(*scratch)
	defer g.done(c)
	defer g.done(d)
	x, y := g.measure(a, c), g.measure(b, d)
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		p, q := &x[i], &y[i]
		same := p.Predictor == q.Predictor && p.Part == q.Part && p.Target == q.Target && p.Cap.Place == q.Cap.Place
		if !same || p.Predictor != cost.BodyBytes && math.Float64bits(p.Value) != math.Float64bits(q.Value) {
			return false
		}
	}
	return true
}

// measure is what is measured of a query; the scratch space has it until it is done.
func (g *Guard) measure(q *Query, d *scratch) []cost.Measure {
	options := g.policy.Load().options
	options.MaxBytes = maxBytes
	if g.config.Hints != nil {
		options.Hints = g.config.Hints
	}
	d.query, d.unread, d.packed = q.cost(), q.Unread, q.packed()
	d.read(d.readers[q.Kind.index()], options)
	return d.measures
}
