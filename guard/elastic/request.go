package elastic

import (
	"bytes"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// request handles the request by its endpoint.
func (r *Reader) request() {
	index, ep := endpointOf(r.q.Path)
	r.index = index
	p := r.parameters()
	if ep == epOther {
		return
	}
	if len(r.q.Body) > 0 {
		r.add1(cost.BodyBytes, float64(len(r.q.Body)))
	}
	if len(r.q.Body) > r.o.MaxBytes {
		r.unreadable(cost.BodyBytes, "the body is too long", -1)
		return
	}
	if ep == epUnread {
		if len(r.q.Body) > 0 || p.source != nil {
			r.add1(cost.UnreadEndpoint, 1)
		}
		return
	}
	body, derived, ok := r.plainBody()
	if !ok {
		return
	}
	prefix := ""
	if len(bytes.TrimSpace(body)) == 0 && p.source != nil {
		if !r.readable(p.sourceType, p.source) {
			return
		}
		body, derived, prefix = p.source, true, "url.source"
	}
	switch ep {
	case epMultiSearch, epMultiTemplate:
		r.shards()
		r.multi(body, derived, prefix, &p, ep == epMultiTemplate)
		return
	case epScroll, epPit:
	default:
		r.shards()
	}
	if len(bytes.TrimSpace(body)) == 0 {
		r.body(none, ep, &p)
		return
	}
	base := 0
	if derived {
		base = -1
	}
	if r.open(body, 0, len(body), base, derived, prefix) {
		r.add(cost.BodyDepth, float64(r.t.deepest), 0)
		r.body(0, ep, &p)
		r.close()
	}
}

// add1 appends a measure of the whole request.
func (r *Reader) add1(p cost.Predictor, value float64) {
	m := r.addURL(p, value, "")
	m.Offset = 0
	if r.o.Explain {
		m.Path = "$"
	}
}

// body reads the scanned body of a request other than a batch; root is none without a body.
func (r *Reader) body(root int, ep endpoint, p *parameters) {
	switch ep {
	case epSearch, epAsyncSearch:
		r.search(root, p, ep)
	case epCount, epValidate, epExplain:
		r.onlyQuery(root, p)
	case epScroll:
		r.keepAlive(r.get(root, "scroll"), p.scroll, "scroll")
	case epPit:
		r.keepAlive(r.get(root, "keep_alive"), p.keepAlive, "keep_alive")
	case epDeleteByQuery, epUpdateByQuery:
		r.write(root, root, p)
	case epReindex:
		r.reindex(root, p)
	case epTemplate:
		r.template(root, p)
	case epRankEval:
		r.rankEval(root, p)
	case epFieldCaps, epTermsEnum:
		r.fieldCaps(root, p, ep)
	case epLanguage, epESQL:
		r.language(root, p, ep)
	case epStored:
		r.stored(r.get(root, "script"))
	case epStatus:
		r.answerKept(p)
	case epTransform:
		r.transform(root, p)
	case epGraph:
		r.graph(root, p)
	case epScript:
		r.scriptIn(root, false)
	}
}

// onlyQuery handles an endpoint whose query is the only cost.
func (r *Reader) onlyQuery(root int, p *parameters) {
	r.mainQuery(r.get(root, "query"), p)
	r.finishQuery()
}
