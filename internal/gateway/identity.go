package gateway

import (
	"strings"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/fingerprint"
	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
)

// identity is the identity of a request as work.
type identity struct {
	req  *h1.Request
	body *heldBody

	input  fingerprint.Input
	traits fingerprint.Traits
	work   bezoar.Fingerprint // of the work
	vals   []string           // buffer of Values
}

// identify sets fingerprint, shape and traits of the work, whose Client is known. shape is the guard's; zero for none.
func (w *identity) identify(to *dispatch.Work, p Printer, contentType string, shape bezoar.Fingerprint) {
	w.input = fingerprint.Input{
		Method:      w.req.Method,
		Path:        w.req.Path,
		RawQuery:    w.req.Query,
		ContentType: contentType,
		Header:      w,
		Fields:      w,
		Body:        w.body.bytes,
		Complete:    w.body.whole,
		Length:      w.req.Length,
	}
	to.Fingerprint, to.Shape = p.Work(&w.input)
	if !shape.IsZero() {
		to.Shape = shape
	}
	w.work = to.Fingerprint
	if p, ok := p.(*fingerprint.Printer); ok {
		w.traits = fingerprint.Traits{Printer: p, Input: &w.input, Caller: to.Client, Bound: w.req.Upgrade != "", Query: !shape.IsZero()}
		to.Traits = &w.traits
	}
}

// NumField returns the number of fields for the traits: those of the head, and trailers of a held body.
func (w *identity) NumField() int { return len(w.req.Fields) + len(w.body.trailers) }

// Field returns field i. A trailer gets another name than a head field, because a worker may die of one and not of the
// other.
func (w *identity) Field(i int) (name, value string) {
	if n := i - len(w.req.Fields); n >= 0 {
		return "trailer " + w.body.trailers[n].Name, w.body.trailers[n].Value
	}
	return w.req.Fields[i].Name, w.req.Fields[i].Value
}

// Values returns all values of a field, for the fingerprint.
func (w *identity) Values(name string) []string {
	start := len(w.vals)
	for i := range w.req.Fields {
		if strings.EqualFold(w.req.Fields[i].Name, name) {
			w.vals = append(w.vals, w.req.Fields[i].Value)
		}
	}
	return w.vals[start:len(w.vals):len(w.vals)]
}
