package elastic

import (
	"math"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// template reads _search/template. A stored template is not visible; an inline one is
// rendered with its parameters.
func (r *Reader) template(root int, p *parameters) {
	if root <= none {
		r.addURL(cost.StoredTemplate, 1, "")
		return
	}
	params := r.get(root, "params")
	source := firstOf(r.get(root, "source"), r.get(root, "inline"), r.get(root, "template"))
	if r.isObject(source) && firstOf(r.get(source, "id"), r.get(source, "file")) > none && r.count(source) <= 2 {
		source = none
	}
	if source <= none {
		m := r.add(cost.StoredTemplate, 1, firstOf(r.get(root, "id"), root))
		if r.o.Explain {
			m.Detail = "the query is stored in the backend"
		}
		r.scrolls(&members{pit: none}, p)
		return
	}
	r.inlineTemplate(source, params, p)
}

// stored measures an object that is stored to be run later. The parameters of a template
// are unknown: each is assumed to be 1. A result that is not a search is not judged.
func (r *Reader) stored(script int) {
	if !r.isObject(script) {
		return
	}
	if string(r.bytes(firstOf(r.get(script, "lang"), script))) != "mustache" {
		r.scriptValue(script)
		return
	}
	source := firstOf(r.get(script, "source"), r.get(script, "inline"))
	if source <= none {
		return
	}
	m := mustache{r: r, params: r.get(script, "params"), limit: r.o.MaxBytes, assume: true}
	out, fault := m.fill(r.textOf(source))
	fixed, index, hints, refused := r.fixedURL, r.index, r.o.Hints, r.fault
	if fault == noFault && r.openInside(out, source) {
		r.fixedURL, r.o.Hints = true, nil // the index is unknown
		r.search(0, &parameters{maxDocs: math.Inf(1)}, epSearch)
		r.fixedURL, r.index, r.o.Hints = fixed, index, hints
		r.close()
	}
	r.fault = refused
}

// textOf returns a text, or the source text of any other value.
func (r *Reader) textOf(n int) []byte {
	if r.isText(n) {
		return r.bytes(n)
	}
	v := &r.t.nodes[n]
	return r.t.text[v.off:v.end]
}

// inlineTemplate renders a template. Variables without a parameter stay empty. If the
// result is not JSON, it is refused.
func (r *Reader) inlineTemplate(source, params int, p *parameters) {
	m := mustache{r: r, params: params, limit: r.o.MaxBytes}
	if r.isObject(source) {
		if s := firstOf(r.get(source, "source"), r.get(source, "inline")); s > none {
			source = s
		}
	}
	out, fault := m.fill(r.textOf(source))
	if fault != noFault {
		r.unreadable(cost.Unparsable, fault, r.offset(source))
		return
	}
	if !r.openInside(out, source) {
		return
	}
	fixed := r.fixedURL
	r.fixedURL = true
	r.search(0, p, epSearch)
	r.fixedURL = fixed
	r.close()
}
