package guard

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bezoar-dev/bezoar/guard/cost"
	"github.com/bezoar-dev/bezoar/internal/sorted"
)

// judge converts measures to findings, and findings to a verdict.
func (v *Verdict) judge(q *Query, measures []cost.Measure, t *table, scale float64, reportOnly bool) {
	var caps []capping
	var fired []*compiled
	for i := range measures {
		m := &measures[i]
		if m.Predictor == cost.None {
			continue
		}
		fired = fired[:0]
		t.exceeded(m, scale, func(r *compiled, limit float64) {
			if slices.Contains(fired, r) { // the rule already fired for another index of the list
				return
			}
			fired = append(fired, r)
			action := r.action
			if action == Cap {
				edit, ok := capOf(m, limit)
				if ok {
					caps = append(caps, edit)
				} else {
					action = Reject
				}
			}
			v.add(finding(q, m, r, limit, action))
		})
	}
	sorted.StableFunc(v.Findings, func(a, b Finding) int { return cmp.Compare(b.Action.weight(), a.Action.weight()) })
	if n := len(v.Findings); n > MaxFindings {
		v.Findings, v.More = v.Findings[:MaxFindings], v.More+n-MaxFindings
	}
	if len(v.Findings) == 0 {
		return
	}
	for i := range v.Findings { // only for kept findings: each position requires a scan of the text before it
		if f := &v.Findings[i]; f.Line > 0 {
			f.Line, f.Column = place(q.Body, f.Line-1)
		}
	}
	worst := v.Findings[0].Action
	if reportOnly && worst != Report {
		for i := range v.Findings {
			if f := &v.Findings[i]; f.Action != Report {
				f.Would, f.Action = f.Action, Report
			}
		}
		worst = Report
	}
	switch worst {
	case Reject:
		v.Verdict = Rejected
	case Cap:
		v.Verdict = Capped
		v.apply(q, caps)
	case Report, Off:
		v.Verdict = Reported
	}
}

// add stores a finding. If two rules fire at the same place, it keeps only the stricter
// one.
func (v *Verdict) add(f Finding) {
	for i := range v.Findings {
		have := &v.Findings[i]
		if have.Predictor == f.Predictor && have.Path == f.Path && have.Part == f.Part && have.Line == f.Line && have.Would == f.Would {
			if a, b := f.Action.weight(), have.Action.weight(); a > b || a == b && f.Value > have.Value {
				*have = f
			}
			return
		}
	}
	if len(v.Findings) >= 4*MaxFindings {
		if f.Action.weight() <= v.Findings[len(v.Findings)-1].Action.weight() {
			v.More++
			return
		}
		v.Findings = v.Findings[:len(v.Findings)-1]
		v.More++
	}
	v.Findings = append(v.Findings, f)
}

func finding(q *Query, m *cost.Measure, r *compiled, limit float64, action Action) Finding {
	f := Finding{
		Predictor: m.Predictor.String(), Path: m.Path, Value: Number(m.Value), Limit: Number(limit), Action: action,
		Detail: shorten(m.Detail), Index: shorten(m.Target), Part: m.Part, Rule: r.where,
		Fix: fixFor(m, q.Kind, limit),
	}
	f.Line = m.Offset + 1 // the offset, until the kept findings are known
	return f
}

// maxWords limits the quoted part of a query in a finding, in bytes.
const maxWords = 512

func shorten(s string) string {
	if len(s) > maxWords {
		return strings.ToValidUTF8(s[:maxWords], "") + "…"
	}
	return s
}

// place returns the line and column of a byte. Columns count characters.
func place(text []byte, offset int) (line, column int) {
	before := text[:min(offset, len(text))]
	start := bytes.LastIndexByte(before, '\n') + 1
	return 1 + bytes.Count(before, []byte{'\n'}), 1 + utf8.RuneCount(before[start:])
}
