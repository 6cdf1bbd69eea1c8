package sql

import (
	"math"
	"strings"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// where reads the condition of a block.
func (r *Reader) where(b *block, i, j int) {
	if r.conditional(i) { // only some servers execute it
		r.scanAll(i+1, j)
		return
	}
	b.where = true
	if r.wordIs(i+1, "current") && r.wordIs(i+2, "of") {
		b.selects, b.key = true, true
		return
	}
	named, pending := b.named, len(r.pending)
	v := r.condition(b, i+1, j, false)
	if v.joins {
		r.unpaired(pending)
	}
	b.truth, b.constant = v.truth, b.named == named && v.truth == depends
	b.selects, b.chosen = b.selects || v.selects, b.chosen || v.chosen
}

// having reads a condition on groups, which selects no rows.
func (r *Reader) having(i, j int) {
	b := block{base: len(r.relations), share: 1, never: -1, hold: 1, below: math.Inf(1)}
	pending, edges := len(r.pending), len(r.edges)
	r.condition(&b, i+1, j, false)
	kept := r.pending[:pending]
	for _, p := range r.pending[pending:] {
		if p.always {
			kept = append(kept, p)
		}
	}
	r.pending, r.edges = kept, r.edges[:edges]
}

// reportTables is the number of tables from which a grouping query counts as a report. A
// report reads whole tables with or without its LIKE, so a pattern in its text is reported
// instead of refused.
const reportTables = 3

// unpaired changes the patterns from mark on to be about the rows of a table instead of
// pairs of rows: equal columns find the pairs.
func (r *Reader) unpaired(mark int) {
	for i := range r.pending[mark:] {
		if p := &r.pending[mark+i]; p.predictor == cost.LeadingWildcard {
			p.value = 1
		}
	}
}

// bounded changes the patterns from mark on to be ended early by a LIMIT.
func (r *Reader) bounded(mark int) {
	for i := range r.out[mark:] {
		if m := &r.out[mark+i]; m.Predictor == cost.LeadingWildcard && !math.IsInf(m.Value, 1) {
			m.Value = 1
		}
	}
}

// measured is a measure that a condition may add.
type measured struct {
	predictor cost.Predictor
	at        span
	value     float64
	path      string
	why       string // with a place for the operator
	sign      string
	always    bool // also if another condition selects
	written   bool // a LIKE whose pattern is in the text, not in a value
}

// conclude adds the pending measures of a block, and those of missing joins. For a
// condition that is never true it adds nothing, because servers then read no table.
func (r *Reader) conclude(b *block, i, from, pending int) {
	if b.where && b.truth == never {
		r.pending = r.pending[:pending]
		return
	}
	passes := b.selects || len(r.pending) > pending && r.small(b)
	for _, p := range r.pending[pending:] {
		if !p.always && passes {
			continue
		}
		if p.written && r.reports > 0 && r.around+b.all >= reportTables {
			p.predictor = cost.NonSargable
		}
		if p.predictor == cost.LeadingWildcard {
			p.value = max(p.value, r.docs(b))
		}
		m := r.add(p.predictor, p.value, p.at.from, p.path)
		m.Target = r.target(b)
		if r.o.Explain {
			m.Detail = r.excerpt(p.at.from, p.at.to) + ": " + strings.Replace(p.why, "%s", p.sign, 1)
		}
	}
	r.pending = r.pending[:pending]
	if b.all > 1 {
		if from < 0 {
			from = i
		}
		r.joins(b, from)
	}
}
