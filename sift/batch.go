package sift

import (
	"fmt"
	"slices"
	"strings"
)

// Span is the rows From to To-1, counted from 0.
type Span struct{ From, To int }

// Len returns the number of rows.
func (s Span) Len() int { return s.To - s.From }

// Batch holds the rows of one run, in order, possibly with gaps where rows were taken out.
// The zero Batch has no rows.
type Batch struct{ spans []Span }

// BatchOf returns the batch of all rows of a span.
func BatchOf(s Span) Batch {
	if s.Len() <= 0 {
		return Batch{}
	}
	return Batch{spans: []Span{s}}
}

// Spans returns the rows. The slice must not be changed.
func (b Batch) Spans() []Span { return b.spans }

// Len returns the number of rows.
func (b Batch) Len() int {
	n := 0
	for _, s := range b.spans {
		n += s.Len()
	}
	return n
}

// Row returns the number of the i-th row, counted from 0.
func (b Batch) Row(i int) int {
	for _, s := range b.spans {
		if i < s.Len() {
			return s.From + i
		}
		i -= s.Len()
	}
	panic(fmt.Sprintf("sift: a batch of %d rows has no row %d", b.Len(), b.Len()+i))
}

// Extent returns the span from the first to the last row; it is empty if the batch has
// none.
func (b Batch) Extent() Span {
	if len(b.spans) == 0 {
		return Span{}
	}
	return Span{b.spans[0].From, b.spans[len(b.spans)-1].To}
}

// String names the rows as people count them, from 1.
func (b Batch) String() string {
	var parts []string
	for i, s := range b.spans {
		switch {
		case i == 8:
			return strings.Join(append(parts, "…"), ", ")
		case s.Len() == 1:
			parts = append(parts, fmt.Sprint(s.To))
		default:
			parts = append(parts, fmt.Sprintf("%d–%d", s.From+1, s.To))
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// split returns its first n rows, and the others.
func (b Batch) split(n int) (first, others Batch) {
	for i, s := range b.spans {
		if n > s.Len() {
			n -= s.Len()
			continue
		}
		first.spans = append(slices.Clone(b.spans[:i]), Span{s.From, s.From + n})
		if n < s.Len() {
			others.spans = append(others.spans, Span{s.From + n, s.To})
		}
		others.spans = append(others.spans, b.spans[i+1:]...)
		return first, others
	}
	return b, Batch{}
}

// without returns the rows that are not in rows, which is sorted and all of b.
func (b Batch) without(rows []int) Batch {
	var out Batch
	for _, s := range b.spans {
		for len(rows) > 0 && rows[0] < s.To {
			if s.From < rows[0] {
				out.spans = append(out.spans, Span{s.From, rows[0]})
			}
			s.From, rows = rows[0]+1, rows[1:]
		}
		if s.Len() > 0 {
			out.spans = append(out.spans, s)
		}
	}
	return out
}

// pieces are batches that may not run together although they follow one another:
// a row between them was finished by itself.
type pieces []Batch

func (p pieces) rows() int {
	n := 0
	for _, b := range p {
		n += b.Len()
	}
	return n
}

// halves cuts between pieces where there are several, else in the middle.
func (p pieces) halves() (l Batch, r pieces) {
	if len(p) > 1 {
		return p[0], p[1:]
	}
	l, rest := p[0].split(p[0].Len() / 2)
	return l, pieces{rest}
}

// then returns p and what follows it, without what is empty. What has no row
// between it may run together.
func (p pieces) then(others ...Batch) pieces {
	var out pieces
	for _, b := range slices.Concat(p, others) {
		if b.Len() == 0 {
			continue
		}
		if n := len(out); n > 0 && out[n-1].Extent().To == b.Extent().From {
			out[n-1] = Batch{spans: slices.Concat(out[n-1].spans, b.spans)}.tidy()
			continue
		}
		out = append(out, b)
	}
	return out
}

// tidy joins spans that touch.
func (b Batch) tidy() Batch {
	var set rowSet
	for _, s := range b.spans {
		set.add(s)
	}
	return Batch(set)
}

// cut returns p without one row, in two pieces there.
func (p pieces) cut(row int) pieces {
	var out pieces
	for _, b := range p {
		var before, behind Batch
		for _, s := range b.spans {
			if s.From < row {
				before.spans = append(before.spans, Span{s.From, min(s.To, row)})
			}
			if s.To > row+1 {
				behind.spans = append(behind.spans, Span{max(s.From, row+1), s.To})
			}
		}
		out = append(out, before, behind)
	}
	return out.then()
}

// rowSet is a set of rows as sorted spans that do not touch.
type rowSet struct{ spans []Span }

func (r *rowSet) add(s Span) {
	if s.Len() <= 0 {
		return
	}
	i, _ := slices.BinarySearchFunc(r.spans, s.From, func(x Span, from int) int { return x.To - from })
	j := i
	for j < len(r.spans) && r.spans[j].From <= s.To {
		s.From, s.To = min(s.From, r.spans[j].From), max(s.To, r.spans[j].To)
		j++
	}
	r.spans = slices.Replace(r.spans, i, j, s)
}

// free is the first span from row from on that is not in the set, at most up to
// to; empty if there is none.
func (r *rowSet) free(from, to int) Span {
	i, _ := slices.BinarySearchFunc(r.spans, from, func(x Span, from int) int { return x.To - from - 1 })
	for ; i < len(r.spans) && r.spans[i].From <= from; i++ {
		from = r.spans[i].To
	}
	if i < len(r.spans) {
		to = min(to, r.spans[i].From)
	}
	return Span{from, max(from, to)}
}

// rows is how many rows up to to the set has.
func (r *rowSet) rows(to int) int {
	n := 0
	for _, s := range r.spans {
		n += max(0, min(s.To, to)-s.From)
	}
	return n
}
