package elastic

import (
	"math"
	"time"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// watch measures the searches and scripts of a watch, or of a monitor, wherever
// in it they are: it runs them again and again.
func (r *Reader) watch(n int) {
	if r.isArray(n) {
		for e := n + 1; e < r.next(n); e = r.next(e) {
			r.watch(e)
		}
		return
	}
	for k := n + 1; r.isObject(n) && k < r.next(n); k = r.next(k + 1) {
		switch string(r.bytes(k)) {
		case "search":
			r.watched(k + 1)
		case "filter_query", "aggregation_query": // of a detector
			r.detected(k + 1)
		case "script":
			r.scriptValue(k + 1)
		default:
			r.watch(k + 1)
		}
	}
}

// detected measures what a detector asks again and again: a query, or named
// aggregations.
func (r *Reader) detected(v int) {
	r.query.reset()
	r.bounds, r.areas = r.bounds[:0], r.areas[:0]
	r.walkQuery(v, 1, 0, false)
	r.finishQuery()
}

// watched measures {"request": {"indices", "body" or "template"}} of a watch, and
// {"indices", "query": BODY} of a monitor.
func (r *Reader) watched(v int) {
	outer, fixed := r.index, r.fixedURL
	request := firstOf(r.get(v, "request"), v)
	if names, _ := r.list(r.get(request, "indices")); names != "" {
		r.index = names
	}
	r.fixedURL = true
	p := parameters{maxDocs: math.Inf(1)}
	if body := firstOf(r.get(request, "body"), r.get(request, "query")); body > none {
		r.search(body, &p, epSearch)
	}
	if t := r.get(request, "template"); t > none {
		r.template(t, &p)
	}
	r.index, r.fixedURL = outer, fixed
}

// chunk is the part of time that one search of a datafeed is about: so many
// milliseconds, or so many steps of its histogram.
type chunk struct{ span, steps float64 }

// usualChunk is what datafeeds with aggregations take by themselves.
const usualChunk = 1000

func (c chunk) of(w width, step float64) width {
	if span := c.span + c.steps*step; span > 0 && span < w.span {
		return width{span, "that of a chunk of the datafeed", c.span > 0}
	}
	return w
}

// datafeed measures the search that a datafeed runs over one chunk of time after
// another.
func (r *Reader) datafeed(root int, p *parameters) {
	if tried := r.get(root, "datafeed_config"); tried > none { // of _preview
		root = tried
	}
	if names, _ := r.list(firstOf(r.get(root, "indices"), r.get(root, "indexes"))); names != "" {
		r.index = names
	}
	r.chunk = chunk{steps: usualChunk}
	config := r.get(root, "chunking_config")
	if mode := r.get(config, "mode"); mode > none && string(r.bytes(mode)) == "off" {
		r.chunk = chunk{}
	} else if span, _, ok := r.interval("", r.get(config, "time_span")); ok {
		r.chunk = chunk{span: span}
	}
	r.search(root, p, epSearch)
	r.chunk = chunk{}
}

// keptFree is for how long backends keep the answer of an asynchronous search by
// themselves. It is an answer, not a context with files that it holds open.
const keptFree = 5 * 24 * time.Hour

// answerKept measures for how long the answer of an asynchronous search is kept.
func (r *Reader) answerKept(p *parameters) {
	if kept(p.keepAlive) > float64(keptFree.Milliseconds()) {
		r.keepAlive(none, p.keepAlive, "keep_alive")
	}
}

// writeEffort measures what the URL says of a write: how many documents it reads
// at once, in how many requests beside each other, with a context for how long.
func (r *Reader) writeEffort(p *parameters) {
	if p.hasScrollSize {
		r.addURL(cost.ResultWindow, p.scrollSize, "scroll_size").Cap = r.urlCap(p.scrollSizeAt, true, "", "", 0, 1)
	}
	if p.slices > 1 {
		r.addURL(cost.Batch, p.slices, "slices").Cap = r.urlCap(p.slicesAt, true, "", "", 0, 1)
	}
	if p.scroll != nil {
		r.keepAlive(none, p.scroll, "scroll")
	}
}
