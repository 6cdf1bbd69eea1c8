package guardfront

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/guard/cost"
	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
)

// Check is the guard's work on one request. Its zero value is ready.
type Check struct {
	Notes []h1.Field         // for any answer
	Shape bezoar.Fingerprint // of the query; zero: the guard could not read it

	guard   *Guard
	verdict *guard.Verdict // its memory is kept for the next request
	judged  bool           // verdict is about this request
	found   []string       // texts in fields
	asked   string         // the caller's name in the guard's counters; "": the guard was not asked
	line    *recordedQuery // for the record of queries; nil: none
}

// Reset prepares the check for another request, and keeps its buffers.
func (c *Check) Reset() {
	clear(c.Notes)
	clear(c.found)
	*c = Check{Notes: c.Notes[:0], found: c.found[:0], verdict: c.verdict}
}

// Verdict returns the guard's verdict on the request; nil if it has not judged it.
func (c *Check) Verdict() *guard.Verdict {
	if !c.judged {
		return nil
	}
	return c.verdict
}

// Judge checks the request against the guard. Without a rejection the request may go on, and the front must call Observe.
// The Verdict then says what was capped.
func (c *Check) Judge(g *Guard, r *Request) *Rejection {
	path, judged, why := g.path(r.Head.Path)
	if !judged {
		return nil
	}
	c.guard = g
	if !r.Whole {
		return c.unheld(r)
	}
	if c.verdict == nil {
		c.verdict = new(guard.Verdict)
	}
	v := c.verdict
	q := g.query(r, path, why)
	who := r.asker()
	c.asked = g.askerName(r, &who)
	q.Class, q.Caller = g.Guard.Classify(who), c.asked
	places := g.Expressions
	if g.Kind == guard.SQL {
		places = g.Statement
	}
	if len(places) == 0 {
		c.line = g.take(&q, &who)
		g.check(r, &q, v)
		c.Shape = v.Print
		return c.conclude(r)
	}
	if c.found, why = r.texts(c.found[:0], places); len(c.found) == 0 && why == "" && g.Kind == guard.SQL && len(r.Body) > 0 && !json.Valid(r.Body) {
		c.found = append(c.found, string(r.Body)) // whatever it is, the worker does not expect it
	}
	if len(c.found) > maxTexts && g.Guard.ReportOnly(q.Class, c.asked) {
		c.note(Field, "report; predictor="+cost.BodyBytes.String())
		c.found = c.found[:maxTexts]
	}
	if len(c.found) > maxTexts {
		return g.unseen(r, http.StatusBadRequest, fmt.Sprintf("The request has more than %d texts of its kind, and more cannot be checked.", maxTexts))
	}
	c.judgeTexts(r, &q, &who, why)
	return c.conclude(r)
}

// judgeTexts judges each text in the request, and joins the verdicts. why says why further texts cannot be found, if so.
func (c *Check) judgeTexts(r *Request, q *guard.Query, who *guard.Caller, why string) {
	g, v := c.guard, c.verdict
	worst, dearest := guard.Verdict{Verdict: guard.Accepted}, 0.0
	judge := func(one *guard.Query) {
		g.check(r, one, v)
		g.taken(one, who, v.Verdict)
		if graver(v.Verdict, worst.Verdict) {
			worst.Verdict, worst.Findings = v.Verdict, append([]guard.Finding(nil), v.Findings...)
		}
		if v.Cost > dearest {
			dearest, worst.Mostly = v.Cost, v.Mostly
		}
		worst.Cost, worst.Shape, worst.Class, worst.Version, worst.Override = worst.Cost+v.Cost, v.Shape, v.Class, v.Version, v.Override
	}
	if why != "" {
		q.Unread = why
		judge(q)
	}
	for _, text := range c.found {
		one := only(*q, text)
		judge(&one)
	}
	if g.Kind == guard.SQL && len(c.found) == 1 { // the statement is the whole query; an expression is only a part of it
		c.Shape = v.Print
	}
	*v = worst
	if v.Verdict == guard.Capped {
		v.Verdict = guard.Rejected // a text within a field cannot be capped
	}
}

// noRoom is the answer to queries while the memory for bodies is used up.
const noRoom = "There is no memory to hold the query while it is checked. Try again in a moment."

// unheld rejects a query that is not held completely, or only reports it.
func (c *Check) unheld(r *Request) *Rejection {
	g, who := c.guard, r.asker()
	if g.Guard.ReportOnly(g.Guard.Classify(who), g.askerName(r, &who)) {
		c.note(Field, "report; predictor="+cost.BodyBytes.String())
		return nil
	}
	var no *Rejection
	if r.Room.Crowded() {
		no = g.unseen(r, http.StatusServiceUnavailable, noRoom)
	} else {
		no = g.unseen(r, http.StatusRequestEntityTooLarge,
			fmt.Sprintf("The query is longer than the %d bytes that can be checked (the route's buffer), or arrived too slowly.", r.Buffer))
	}
	no.Close = true
	return no
}

// check makes the guard judge a query, and gives back the memory that this took.
func (g *Guard) check(r *Request, q *guard.Query, v *guard.Verdict) {
	had := r.Room.Reserved()
	g.Guard.Check(q, v)
	r.Room.GiveBack(had)
}

// conclude acts on the verdict.
func (c *Check) conclude(r *Request) *Rejection {
	c.judged = true
	switch v := c.verdict; v.Verdict {
	case guard.Accepted:
	case guard.Reported:
		c.note(Field, "report; predictor="+v.Findings[0].Predictor)
	case guard.Capped:
		c.note(Field, "cap")
		c.note(CapsField, plainASCII(strings.Join(v.Caps, ", ")))
	case guard.Rejected:
		if r.Room.Crowded() {
			return c.guard.unseen(r, http.StatusServiceUnavailable, noRoom)
		}
		return c.guard.rejected(r, v)
	}
	return nil
}

// note adds a field to the answer.
func (c *Check) note(name, value string) {
	c.Notes = append(c.Notes, h1.Field{Name: name, Value: value})
}

// Observe tells the guard how a query ended: how long it took, how many bytes its answer had, and whether a worker died of
// it.
func (c *Check) Observe(r *Request, took time.Duration, bytes int64, died bool) {
	if c.asked == "" { // it was not looked at
		return
	}
	c.Recorded(took)
	g, v := c.guard.Guard, c.verdict
	o := guard.Observation{
		Shape: v.Shape, Cost: v.Cost, Predictor: v.Mostly, Class: v.Class, Caller: c.asked, Route: r.Route, Request: r.ID,
		Took: took, Bytes: bytes, Died: died,
	}
	if most := g.SlowText(); most > 0 {
		if o.Text = r.Body; len(o.Text) == 0 {
			o.Text = []byte(r.Head.Query)
		}
		o.Text = o.Text[:min(most, len(o.Text))]
	}
	g.Observe(o)
}

// Recorded passes the query to the record when its time is known; 0 means that it did not run.
func (c *Check) Recorded(took time.Duration) {
	line := c.line
	if line == nil {
		return
	}
	c.line = nil
	line.Verdict, line.TookMS = c.verdict.Verdict, float64(took.Microseconds())/1000
	c.guard.Record.Recorder.record(line)
}

func graver(a, b guard.Outcome) bool {
	order := func(o guard.Outcome) int {
		switch o {
		case guard.Accepted:
			return 0
		case guard.Reported:
			return 1
		case guard.Capped:
			return 2
		case guard.Rejected:
		}
		return 3
	}
	return order(a) > order(b)
}

// maxCapsField bounds a field's value.
const maxCapsField = 1024

// plainASCII replaces arrows so that the text fits into a field.
func plainASCII(s string) string {
	s = strings.ReplaceAll(s, "→", "->")
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, s)
	return s[:min(len(s), maxCapsField)]
}
