package gateway

import (
	"time"

	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/internal/dispatch"
)

// observed tells the guard what became of a query that went on.
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
	g.Observe(o)
}
