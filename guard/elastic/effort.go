package elastic

import (
	"math"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// effort measures the search's own limits: timeout, terminate_after, track_total_hits. All
// of them can be added if they are absent.
func (r *Reader) effort(root int, m *members, p *parameters) {
	r.timeout(root, m, p)
	r.terminate(root, m, p)
	if p.scroll == nil { // a scroll must count all hits
		r.totalHits(root, m, p)
	}
}

func (r *Reader) timeout(root int, m *members, p *parameters) {
	seconds := math.Inf(1)
	parse := func(text []byte) {
		if ms, ok := duration(text); ok && ms >= 0 {
			seconds = ms / 1000
		}
	}
	switch {
	case p.timeout != nil:
		parse(p.timeout)
		r.addURL(cost.Timeout, seconds, "timeout").Cap = r.urlCap(p.timeoutAt, true, "", "s", 0, 1)
	case m.timeout > none:
		parse(r.bytes(m.timeout))
		r.add(cost.Timeout, seconds, m.timeout).Cap = r.bodyCap(m.timeout, `"`, `s"`, 0, 1)
	default:
		r.absent(cost.Timeout, seconds, root, "timeout").Cap = r.insertCap(root, addTimeout(), 1)
	}
}

func (r *Reader) terminate(root int, m *members, p *parameters) {
	docs := math.Inf(1)
	positive := func(v float64, ok bool) {
		if ok && v > 0 {
			docs = v
		}
	}
	switch {
	case p.terminateSet:
		positive(p.terminate, true)
		r.addURL(cost.TerminateAfter, docs, "terminate_after").Cap = r.urlCap(p.terminateAt, true, "", "", 0, 1)
	case m.terminate > none:
		positive(r.number(m.terminate))
		r.add(cost.TerminateAfter, docs, m.terminate).Cap = r.bodyCap(m.terminate, "", "", 0, 1)
	default:
		r.absent(cost.TerminateAfter, docs, root, "terminate_after").Cap = r.insertCap(root, addTerminate(), 1)
	}
}

func (r *Reader) totalHits(root int, m *members, p *parameters) {
	switch {
	case p.total != nil:
		r.addURL(cost.TotalHits, hitsCounted(p.total), "track_total_hits").Cap = r.urlCap(p.totalAt, true, "", "", 0, 0)
	case m.total > none:
		r.add(cost.TotalHits, hitsCounted(r.bytes(m.total)), m.total).Cap = r.bodyCap(m.total, "", "", 0, 0)
	default:
		r.absent(cost.TotalHits, allHits, root, "track_total_hits").Cap = r.insertCap(root, addTotal(), 0)
	}
}

func hitsCounted(text []byte) float64 {
	switch string(text) {
	case "true":
		return math.Inf(1)
	case "false":
		return 0
	}
	v, ok := parseNumber(text)
	if !ok {
		return allHits
	}
	if v < 0 || v >= math.MaxInt32 {
		return math.Inf(1)
	}
	return v
}

func (r *Reader) absent(p cost.Predictor, value float64, root int, name string) *cost.Measure {
	m := r.addURL(p, value, name)
	if root > none && !r.t.derived {
		m.Offset = r.offset(root)
		if r.o.Explain {
			m.Path = r.path(root) + "." + name
		}
	}
	return m
}

// sized measures a number in the body that can be lowered, if it is present.
func (r *Reader) sized(p cost.Predictor, n int, otherwise float64) {
	if n > none {
		r.add(p, r.quantity(n, otherwise), n).Cap = r.bodyCap(n, "", "", 0, 1)
	}
}

// bodyCap replaces a value in the body.
func (r *Reader) bodyCap(n int, prefix, suffix string, base, least float64) cost.Cap {
	if r.t.derived {
		return cost.Cap{}
	}
	v := &r.t.nodes[n]
	from, to := int(v.off), int(v.end)
	switch v.kind {
	case kindString:
		if r.t.text[from-1] != '"' || r.t.text[to] != '"' || from >= 3 && r.t.text[from-2] == '"' && r.t.text[from-3] == '"' {
			return cost.Cap{}
		}
		from, to = from-1, to+1
	case kindNumber, kindTrue, kindFalse, kindNull:
	default:
		return cost.Cap{}
	}
	return cost.Cap{Place: cost.CapBody, Start: from, End: to, Base: base, Least: least, Prefix: prefix, Suffix: suffix}
}

// insertCap adds a member to the object root: after its opening bracket and with a trailing
// comma, so that several can be added in one place. In an empty object a trailing comma is
// invalid, so the parameter goes into the URL.
func (r *Reader) insertCap(root int, a addition, least float64) cost.Cap {
	if root > none && r.isObject(root) && !r.t.derived && r.count(root) > 0 {
		at := int(r.t.nodes[root].off) + 1
		return cost.Cap{Place: cost.CapBody, Start: at, End: at, Least: least, Prefix: a.body, Suffix: a.bodyEnd}
	}
	if r.fixedURL {
		return cost.Cap{}
	}
	return r.urlCap(span{}, false, a.url, a.urlEnd, 0, least)
}

// addition holds the texts around the number of a cap, in a body and in a URL.
type addition struct{ body, bodyEnd, url, urlEnd string }

func addSize() addition      { return addition{`"size":`, ",", "&size=", ""} }
func addTimeout() addition   { return addition{`"timeout":"`, `s",`, "&timeout=", "s"} }
func addTerminate() addition { return addition{`"terminate_after":`, ",", "&terminate_after=", ""} }
func addTotal() addition     { return addition{`"track_total_hits":`, ",", "&track_total_hits=", ""} }

// unfiltered measures operations that read every document, because no clause excludes any.
func (r *Reader) unfiltered(aggs, sort int, sel selectivity) {
	if sel != selAll || aggs <= none && sort <= none {
		return
	}
	at := aggs
	if at <= none {
		at = sort
	}
	docs := 1.0
	if h, ok := r.indexHint(); ok && h.Docs > 0 {
		docs = h.Docs
	}
	m := r.add(cost.Unfiltered, docs, at)
	if r.o.Explain {
		m.Detail = "no clause excludes a document"
	}
}
