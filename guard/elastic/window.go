package elastic

import (
	"bytes"
	"fmt"
	"math"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

const (
	defaultSize = 10
	allHits     = 10000 // default number of counted hits
)

// window measures from + size. The URL takes precedence over the body.
func (r *Reader) window(root int, m *members, p *parameters, ep endpoint) {
	size, from := float64(defaultSize), 0.0
	at := none
	capped := cost.Cap{}
	switch {
	case p.hasSize:
		size, capped = p.size, r.urlCap(p.sizeAt, true, "", "", 0, 0)
	case m.size > none:
		size, at = r.quantity(m.size, size), m.size
		capped = r.bodyCap(m.size, "", "", 0, 0)
	default:
		if ep != epRankEval {
			capped = r.insertCap(root, addSize(), 0)
		}
	}
	switch {
	case p.hasFrom:
		from = p.from
	case m.from > none:
		from = r.quantity(m.from, 0)
	}
	scroll := r.scrolls(m, p)
	if ep == epAsyncSearch {
		r.answerKept(p)
	}
	if size < 0 || from < 0 {
		size, from = math.Inf(1), 0
	}
	capped.Base = from
	value := from + size
	var out *cost.Measure
	switch {
	case at <= none && (p.hasSize || p.hasFrom) || at <= none && m.from <= none:
		out = r.addURL(cost.ResultWindow, value, "size")
	case at > none:
		out = r.add(cost.ResultWindow, value, at)
	default:
		out = r.add(cost.ResultWindow, value, m.from)
	}
	out.Cap = capped
	if r.o.Explain {
		out.Detail = fmt.Sprintf("from %s + size %s = %s", figure(from), figure(size), figure(value))
		if scroll {
			out.Detail = "size of each batch of a scroll: " + figure(size)
		}
		if out.Offset < 0 && !p.hasSize && !p.hasFrom {
			out.Path = "$.size"
			out.Detail += " (the default)"
		}
	}
}

// scrolls measures how long a context stays open.
func (r *Reader) scrolls(m *members, p *parameters) bool {
	if p.scroll != nil {
		r.keepAlive(none, p.scroll, "scroll")
	}
	if m.pit > none {
		if at := r.get(m.pit, "keep_alive"); at > none {
			r.keepAlive(at, nil, "")
		}
	}
	return p.scroll != nil
}

// kept parses a time in milliseconds. A value that cannot be parsed counts as unbounded.
func kept(text []byte) float64 {
	text = bytes.TrimSpace(text)
	if len(text) == 0 {
		return 0
	}
	ms, ok := duration(text)
	if !ok {
		ms, ok = parseNumber(text)
	}
	switch {
	case !ok:
		return math.Inf(1)
	case bytes.HasSuffix(text, []byte("S")) && !bytes.HasSuffix(text, []byte("MS")): // S meant milliseconds in version 1, seconds since
		return ms * 1000
	}
	return ms
}

// keepAlive measures a time in the body at node n, or in the URL.
func (r *Reader) keepAlive(n int, inURL []byte, parameter string) {
	text := inURL
	if n > none {
		text = r.bytes(n)
	}
	if text == nil {
		return
	}
	ms := kept(text)
	if ms <= 0 {
		return
	}
	var m *cost.Measure
	if n > none {
		m = r.add(cost.ScrollTTL, ms/1000, n)
	} else {
		m = r.addURL(cost.ScrollTTL, ms/1000, parameter)
	}
	if r.o.Explain {
		m.Detail = fmt.Sprintf("%s = %s s", quoted(text), figure(ms/1000))
	}
}

func (r *Reader) rescore(n int) {
	if n <= none {
		return
	}
	largest, at := -1.0, none
	r.each(n, func(e int) {
		size, where := 10.0, e
		if w := r.get(e, "window_size"); w > none {
			size, where = r.quantity(w, size), w
		}
		if size > largest {
			largest, at = size, where
		}
		if q := r.get(e, "query"); q > none {
			if rq := r.get(q, "rescore_query"); rq > none {
				r.walkQuery(rq, 1, 0, false)
			}
		}
		r.scriptIn(e, false)
	})
	if at > none {
		m := r.add(cost.RescoreWindow, largest, at)
		if r.kind(at) == kindNumber {
			m.Cap = r.bodyCap(at, "", "", 0, 1)
		}
	}
}

func (r *Reader) collapse(n int) {
	if n <= none {
		return
	}
	r.each(r.get(n, "inner_hits"), func(e int) {
		r.innerHits(e)
		r.collapse(r.get(e, "collapse"))
	})
}

// innerHits measures inner_hits and top_hits: from + size, per parent.
func (r *Reader) innerHits(n int) {
	sizeAt := r.get(n, "size")
	size, from := r.quantity(sizeAt, 3), r.quantity(r.get(n, "from"), 0)
	at := n
	if sizeAt > none {
		at = sizeAt
	}
	if size < 0 {
		size = math.Inf(1)
	}
	m := r.add(cost.InnerWindow, from+size, at)
	if sizeAt > none {
		m.Cap = r.bodyCap(sizeAt, "", "", from, 0)
	}
	if r.o.Explain {
		m.Detail = fmt.Sprintf("from %s + size %s, per parent", figure(from), figure(size))
	}
	if r.isObject(n) {
		inner := r.members(n)
		inner.aggs = none
		r.fetch(&inner, &parameters{})
		r.scripts(inner.scriptFields)
		r.sorts(inner.sort, selStrong)
	}
}
