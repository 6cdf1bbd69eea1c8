package gateway

import (
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/guard/hints"
	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/internal/h1"
)

// listen readies a note of the answer to a guarded query, which the guard learns
// from; nil when nobody does, or has no time for it.
func (j *job) listen(r *h1.Response) *hints.Note {
	if j.asked == "" || j.route.Guard.Learner == nil {
		return nil
	}
	if j.notes == nil {
		if j.notes = j.route.Guard.Learner.Note(); j.notes == nil {
			return nil
		}
	}
	j.notes.Reset()
	j.notes.Status, j.notes.Packing = r.Status, packing(r)
	return j.notes
}

// packing is how an answer is packed. What is packed twice is not read.
func packing(r *h1.Response) hints.Packing {
	found := hints.Plain
	for i := range r.Fields {
		f := &r.Fields[i]
		if !strings.EqualFold(f.Name, "Content-Encoding") || strings.EqualFold(f.Value, "identity") {
			continue
		}
		if found != hints.Plain {
			return hints.Unknown
		}
		switch strings.ToLower(f.Value) {
		case "gzip", "x-gzip":
			found = hints.Gzip
		case "deflate":
			found = hints.Deflate
		case "br":
			found = hints.Brotli
		case "zstd":
			found = hints.Zstd
		default:
			return hints.Unknown
		}
	}
	return found
}

// unlisten gives up a note that nobody has handed in.
func (j *job) unlisten() {
	if j.notes != nil {
		j.route.Guard.Learner.Drop(j.notes)
		j.notes = nil
	}
}

// observed tells the guard what became of a query that went on: at once, or when
// the head of its answer has been read.
func (j *job) observed(took time.Duration, a dispatch.Answer) {
	if j.asked == "" { // it was not looked at
		return
	}
	j.recorded(took)
	g, v := j.route.Guard.Guard, j.verdict
	o := guard.Observation{
		Shape: v.Shape, Cost: v.Cost, Predictor: v.Mostly, Class: v.Class, Caller: j.asked, Route: j.route.Name, Request: j.id,
		Took: took, Bytes: j.rec.BytesOut,
		Died: a.Crashed || a.Kind == dispatch.Refused && a.Attempts > 0,
	}
	if most := g.SlowText(); most > 0 {
		if o.Text = j.body; len(o.Text) == 0 {
			o.Text = []byte(j.req.Query)
		}
		o.Text = o.Text[:min(most, len(o.Text))]
	}
	n := j.notes
	if n == nil || a.Kind != dispatch.Answered {
		g.Observe(o)
		return
	}
	n.Path, n.Body, n.Predicted, n.Observation = j.path, nil, v.Cost, o
	if t := j.first(h1.ContentType); t == "" || strings.Contains(t, "json") {
		n.Body = j.body
	}
	j.notes = nil
	j.route.Guard.Learner.Submit(n)
}
