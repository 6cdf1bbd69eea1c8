package elastic

import "bytes"

// anyOf reads alternatives. Together they are as selective as the least selective one.
// every means that each document passes one of them.
func (r *Reader) anyOf(n, depth, join int, every bool) selectivity {
	if !r.isArray(n) {
		return r.walkQuery(n, depth, join, every)
	}
	if r.count(n) == 0 {
		return selAll
	}
	u := r.unite(every)
	for e := n + 1; e < r.next(n); e = r.next(e) {
		u.with(r.walkQuery(e, depth, join, u.every))
	}
	return u.least
}

func (r *Reader) disjunction(v, depth, join int, every bool) selectivity {
	alternatives := v
	if q := firstOf(r.get(v, "queries"), r.get(v, "filters")); q > none {
		alternatives = q
	}
	r.clause(v, 1)
	return r.anyOf(alternatives, depth+1, join, every)
}

// filtersAgg returns one bucket per filter. The aggregations below cover documents that
// pass one of the filters, unless there is a bucket for other documents.
func (r *Reader) filtersAgg(v int, inner *scope) float64 {
	list := r.get(v, "filters")
	if list <= none {
		return 1
	}
	others := r.isTrue(r.get(v, "other_bucket")) || r.get(v, "other_bucket_key") > none
	u := r.unite(!others)
	u.buckets = true
	if r.isArray(list) {
		for e := list + 1; e < r.next(list); e = r.next(e) {
			u.with(r.walkQuery(e, 1, 0, u.every))
		}
	} else if r.isObject(list) {
		for k := list + 1; k < r.next(list); k = r.next(k + 1) {
			u.with(r.walkQuery(k+1, 1, 0, u.every))
		}
	}
	n := float64(r.count(list))
	if others {
		n++
	} else if n > 0 {
		inner.sel = max(inner.sel, u.least)
	}
	return max(1, n)
}

// rangesBound limits the aggregations below a range aggregation to documents between its
// ends.
func (r *Reader) rangesBound(v int) {
	field, ranges := r.get(v, "field"), r.get(v, "ranges")
	if field <= none || !r.isText(field) || !r.isArray(ranges) {
		return
	}
	format := r.get(v, "format")
	if format > none && !r.isText(format) {
		format = none
	}
	u := r.unite(true)
	u.buckets = true
	for e := ranges + 1; e < r.next(ranges) && u.every; e = r.next(e) {
		r.bound(r.bytes(field), r.endAt(r.get(e, "from"), format), r.endAt(r.get(e, "to"), format))
		u.with(selStrong)
	}
}

// maxUnited is the maximum number of fields, and of places, that alternatives bound
// together: more than a search has histograms and grids.
const maxUnited = 16

// union is the combination of alternatives: as selective as the least selective one and,
// for a field that all of them bound, from the lowest to the highest end. The bounds and
// areas of the alternatives read so far are at the end of Reader.bounds and Reader.areas.
type union struct {
	r             *Reader
	least         selectivity
	every         bool // the next alternative may bound fields; with earlier unbounded ones it cannot
	buckets       bool // each alternative has a bucket
	begun         bool
	bounds, areas int // start of the union's entries
	field, place  int // start of the next alternative's entries
}

func (r *Reader) unite(every bool) union {
	b, a := len(r.bounds), len(r.areas)
	return union{r: r, least: selNone, every: every, bounds: b, areas: a, field: b, place: a}
}

// with adds the alternative that was just read, with selectivity sel.
func (u *union) with(sel selectivity) {
	r := u.r
	u.least = min(u.least, sel)
	if !u.every {
		return
	}
	switch {
	case sel == selNone: // it adds no document
		r.bounds, r.areas = r.bounds[:u.field], r.areas[:u.place]
	case !u.begun:
		u.begun = true
		r.bounds = r.bounds[:u.bounds+u.tighten(r.bounds[u.bounds:])]
		r.areas = r.areas[:u.areas+shrink(r.areas[u.areas:])]
	default:
		r.bounds = r.bounds[:u.bounds+u.widen(r.bounds[u.bounds:u.field], r.bounds[u.field:])]
		r.areas = r.areas[:u.areas+spread(r.areas[u.areas:u.place], r.areas[u.place:])]
	}
	u.field, u.place = len(r.bounds), len(r.areas)
	u.every = !u.begun || u.field > u.bounds || u.place > u.areas
}

// tighten keeps one bound per field. It returns how many remain.
func (u *union) tighten(list []bound) int {
	n := 0
next:
	for i := range list {
		for j := range n {
			if bytes.Equal(list[j].field, list[i].field) {
				list[j].narrow(&list[i])
				continue next
			}
		}
		if n < maxUnited {
			list[n] = list[i]
			n++
		}
	}
	for i := range list[:n] {
		list[i].end()
		list[i].keep(u.buckets)
	}
	return n
}

// widen extends each held bound to include the alternative's bound of the same field. It
// keeps those that still have an end.
func (u *union) widen(held, alternative []bound) int {
	n := 0
	for i := range held {
		h, found := held[i], bound{}
		for j := range alternative {
			if bytes.Equal(alternative[j].field, h.field) {
				found.narrow(&alternative[j])
			}
		}
		found.end()
		h.add(&found, u.buckets)
		h.lo, h.hi = lower(h.lo, found.lo), higher(h.hi, found.hi)
		if h.lo.ok || h.hi.ok {
			held[n] = h
			n++
		}
	}
	return n
}

// shrink keeps the smallest box per field. It returns how many remain.
func shrink(list []area) int {
	n := 0
next:
	for i := range list {
		for j := range n {
			if bytes.Equal(list[j].field, list[i].field) {
				if list[i].box.sphere() < list[j].box.sphere() {
					list[j] = list[i]
				}
				continue next
			}
		}
		if n < maxUnited {
			list[n] = list[i]
			n++
		}
	}
	return n
}

// spread extends each held box to include the smallest box of the alternative for the same
// field. It keeps those for which there is one.
func spread(held, alternative []area) int {
	n := 0
	for i := range held {
		h, found := held[i], -1
		for j := range alternative {
			if bytes.Equal(alternative[j].field, h.field) &&
				(found < 0 || alternative[j].box.sphere() < alternative[found].box.sphere()) {
				found = j
			}
		}
		if found >= 0 {
			h.box = h.box.around(alternative[found].box)
			held[n] = h
			n++
		}
	}
	return n
}

// around returns a box that contains both. If one crosses the date line, the result spans
// the earth.
func (b box) around(o box) box {
	b.top, b.bottom = max(b.top, o.top), min(b.bottom, o.bottom)
	if b.left > b.right || o.left > o.right {
		b.left, b.right = -180, 180
		return b
	}
	b.left, b.right = min(b.left, o.left), max(b.right, o.right)
	return b
}
