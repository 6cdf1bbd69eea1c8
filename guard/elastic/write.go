package elastic

import (
	"math"
	"time"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// write measures _delete_by_query and _update_by_query. source is the node with the query
// and the limits.
func (r *Reader) write(root, source int, p *parameters) {
	r.query.reset()
	sel := r.mainQuery(r.get(source, "query"), p)
	r.scriptIn(root, false)
	r.slice(firstOf(r.get(source, "slice"), r.get(root, "slice")))
	r.finishQuery()
	r.writeEffort(p)
	limit := p.maxDocs
	for _, name := range [...]string{"max_docs", "size"} {
		if root != source && name == "size" || root <= none {
			continue
		}
		if n, ok := r.number(r.get(root, name)); ok && n >= 0 {
			limit = min(limit, n)
		}
	}
	if p.hasSize && p.size >= 0 && root == source {
		limit = min(limit, p.size)
	}
	r.unfilteredWrite(sel, limit, firstOf(r.get(source, "query"), source))
}

// reindex measures a copy from an index, possibly of another cluster, to another.
func (r *Reader) reindex(root int, p *parameters) {
	source := r.get(root, "source")
	if at := r.get(source, "index"); at > none {
		names, total := r.list(at)
		if names != "" {
			r.index = names
		}
		if total > 1 {
			r.add(cost.Shards, total, at)
		}
	}
	r.sized(cost.ResultWindow, r.get(source, "size"), 1000) // of a batch
	r.write(root, source, p)
}

// atMost is the maximum number of documents of a write that counts as bounded.
const atMost = 10_000

func (r *Reader) unfilteredWrite(sel selectivity, limit float64, at int) {
	if sel != selAll || limit <= atMost {
		return
	}
	m := r.add(cost.UnfilteredWrite, 1, at)
	if at <= none {
		m.Path = ""
	}
	if !r.o.Explain {
		return
	}
	m.Detail = "no clause excludes a document"
	if !math.IsInf(limit, 1) {
		m.Detail += ", up to " + figure(limit)
	}
	if at <= none {
		m.Path = "$.query"
	}
}

// keptFree is the backends' default retention of an asynchronous search's answer. The
// answer, unlike a context, holds no files open.
const keptFree = 5 * 24 * time.Hour

// answerKept measures how long the answer of an asynchronous search is kept.
func (r *Reader) answerKept(p *parameters) {
	if kept(p.keepAlive) > float64(keptFree.Milliseconds()) {
		r.keepAlive(none, p.keepAlive, "keep_alive")
	}
}

// writeEffort measures the URL parameters of a write: documents per batch, parallel
// requests, and the lifetime of its context.
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
