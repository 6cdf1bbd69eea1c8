package guard

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bezoar-dev/bezoar/internal/sorted"
)

// Limits of the lists of a Replay.
const (
	MaxReplayRows     = 1000 // callers, and shapes, that are counted separately
	MaxReplayExamples = 20   // queries that would be rejected, and unreadable lines
	maxReplayText     = 200  // bytes of a query
)

// ReplayConfig configures a replay. Only Limits is required.
type ReplayConfig struct {
	Limits  *Guard
	Against *Guard // other limits, whose verdicts are compared
	Class   string // class of all callers, if not empty
}

// Validate returns an error that names every invalid field, or nil.
func (c ReplayConfig) Validate() error {
	if c.Limits == nil {
		return errors.New("Limits is nil; want a guard")
	}
	return nil
}

// Replayer judges recorded queries and counts what the limits would have done. It is not
// safe for concurrent use.
type Replayer struct {
	config         ReplayConfig
	out            Replay
	rules, callers map[string]*ReplayRow
	shapes         map[string]*ReplayShape
	now, then      Verdict
}

// NewReplayer returns a Replayer, or an error if c is invalid.
func NewReplayer(c ReplayConfig) (*Replayer, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	t := &Replayer{config: c, rules: map[string]*ReplayRow{}, callers: map[string]*ReplayRow{}, shapes: map[string]*ReplayShape{}}
	if c.Against != nil {
		t.out.Against = &ReplayDiff{}
	}
	return t, nil
}

// Unread counts a line of a log that should contain a query but cannot be read.
func (t *Replayer) Unread(log string, line int, err error) {
	if t.out.Unread++; len(t.out.Faults) < MaxReplayExamples {
		t.out.Faults = append(t.out.Faults, ReplayFault{Log: log, Line: line, Reason: err.Error()})
	}
}

// Add judges a query from a line of a log. It skips requests that the guard does not judge,
// as the gateway does.
func (t *Replayer) Add(log string, line int, rec *Record) {
	if rec.Query.Path != "" && !rec.Query.Kind.Judges(rec.Query.Path) {
		t.out.Skipped++
		return
	}
	q := rec.Query
	if t.config.Class != "" {
		q.Class = t.config.Class
	}
	calls := max(rec.Calls, 1)
	judge(t.config.Limits, &q, rec.Caller, &t.now)
	d := delta{calls: calls, outcome: t.now.Verdict, cost: t.now.Cost * float64(calls), took: rec.Took * time.Duration(calls), longest: rec.Took}
	if t.config.Against != nil {
		judge(t.config.Against, &q, rec.Caller, &t.then)
		d.newly = t.now.Verdict == Rejected && t.then.Verdict != Rejected
		d.noLonger = t.now.Verdict != Rejected && t.then.Verdict == Rejected
		t.out.Against.add(t.then.Verdict == Rejected, &d)
	}
	t.out.count(&d, rec.Partial != "")
	t.caller(q.Caller).add(&d)
	t.countRules(t.now.Findings, &d)
	if d.noLonger {
		t.noLonger(t.then.Findings, calls)
	}
	text := ""
	if s, first := t.shape(t.now.Shape); s != nil {
		if s.add(&d); first {
			text = textOf(&q)
			s.Kind, s.Log, s.Line, s.Text = q.Kind, log, line, text
		}
		if len(t.now.Findings) > 0 {
			s.Predictor = t.now.Findings[0].Predictor
		}
		s.MaxCost = max(s.MaxCost, t.now.Cost)
	}
	if t.now.Verdict == Rejected && len(t.out.Examples) < MaxReplayExamples {
		f := t.now.Findings[0]
		t.out.Examples = append(t.out.Examples, ReplayExample{Log: log, Line: line, Caller: q.Caller, Finding: f, Text: cmp.Or(text, textOf(&q)), Took: rec.Took.Seconds()})
	}
}

// Report returns the counts so far.
func (t *Replayer) Report() Replay {
	out := t.out
	out.Rules, out.Callers = rows(t.rules), rows(t.callers)
	out.Shapes = make([]ReplayShape, 0, len(t.shapes))
	for _, s := range t.shapes {
		out.Shapes = append(out.Shapes, *s)
	}
	sorted.Func(out.Shapes, func(a, b ReplayShape) int {
		return cmp.Or(-cmp.Compare(a.Rejected, b.Rejected), -cmp.Compare(a.Took, b.Took), -cmp.Compare(a.Cost, b.Cost), cmp.Compare(a.Name, b.Name))
	})
	out.Examples, out.Faults = append([]ReplayExample{}, out.Examples...), append([]ReplayFault{}, out.Faults...)
	return out
}

// delta is the effect of one record on the counts.
type delta struct {
	calls           int64
	outcome         Outcome
	cost            float64
	took, longest   time.Duration
	newly, noLonger bool
}

// judge selects the class as a gateway would, unless the record names one.
func judge(g *Guard, q *Query, who Caller, v *Verdict) {
	one := *q
	if one.Class == "" {
		one.Class = g.Classify(who)
	}
	g.Check(&one, v)
}

// countRules counts a query once for each predictor whose limit it broke.
func (t *Replayer) countRules(findings []Finding, d *delta) {
	for i, f := range findings {
		if counted(findings[:i], f) {
			continue // the most severe finding came first
		}
		one := *d
		one.outcome = map[Action]Outcome{Reject: Rejected, Cap: Capped, Report: Reported}[f.Action]
		one.newly, one.noLonger = d.newly && f.Action == Reject, false
		t.rule(f.Predictor).add(&one)
	}
}

func (t *Replayer) noLonger(findings []Finding, calls int64) {
	for i, f := range findings {
		if f.Action == Reject && !counted(findings[:i], f) {
			t.rule(f.Predictor).NoLonger += calls
		}
	}
}

func counted(before []Finding, f Finding) bool {
	return slices.ContainsFunc(before, func(o Finding) bool { return o.Predictor == f.Predictor })
}

func (t *Replayer) rule(predictor string) *ReplayRow {
	r := t.rules[predictor]
	if r == nil {
		r = &ReplayRow{Name: predictor}
		t.rules[predictor] = r
	}
	return r
}

func (t *Replayer) caller(name string) *ReplayRow {
	if len(name) > maxCallerName {
		name = name[:maxCallerName]
	}
	if r, ok := t.callers[name]; ok {
		return r
	}
	if len(t.callers) >= MaxReplayRows {
		name = Others
		if r, ok := t.callers[name]; ok {
			return r
		}
	}
	r := &ReplayRow{Name: strings.Clone(name)}
	t.callers[r.Name] = r
	return r
}

// shape returns the row of a shape, and whether it is new. It returns nil beyond
// MaxReplayRows.
func (t *Replayer) shape(id uint64) (s *ReplayShape, first bool) {
	name := shapeText(id)
	if s := t.shapes[name]; s != nil {
		return s, false
	}
	if len(t.shapes) >= MaxReplayRows {
		return nil, false
	}
	s = &ReplayShape{ReplayRow: ReplayRow{Name: name}}
	t.shapes[name] = s
	return s, true
}

// textOf returns the start of a query, on one line.
func textOf(q *Query) string {
	text := q.Body
	if len(text) > 4*maxReplayText {
		text = text[:4*maxReplayText]
	}
	s := strings.Join(strings.Fields(strings.ToValidUTF8(string(text), "\uFFFD")), " ")
	if q.Path != "" {
		target := q.Method + " " + q.Path
		if q.RawQuery != "" {
			target += "?" + q.RawQuery
		}
		s = strings.TrimSpace(strings.ToValidUTF8(target, "\uFFFD") + " " + s)
	}
	if len(s) <= maxReplayText {
		return s
	}
	end := maxReplayText
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}
