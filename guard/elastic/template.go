package elastic

import "github.com/bezoar-dev/bezoar/guard/cost"

// template reads _search/template: one that is stored is not visible, one that
// is inline is filled in with its parameters.
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
			m.Detail = "what runs is stored in the backend"
		}
		r.scrolls(&members{pit: none}, p)
		return
	}
	r.inlineTemplate(source, params, p)
}

// inlineTemplate fills a template in. What no parameter fills stays empty; a
// text that is no JSON even then is refused.
func (r *Reader) inlineTemplate(source, params int, p *parameters) {
	m := mustache{r: r, params: params, limit: r.o.MaxBytes}
	v := &r.t.nodes[source]
	if r.isObject(source) {
		if s := firstOf(r.get(source, "source"), r.get(source, "inline")); s > none {
			source, v = s, &r.t.nodes[s]
		}
	}
	text := r.t.text[v.off:v.end]
	if v.kind == kindString {
		text = r.bytes(source)
	}
	out, fault := m.fill(text)
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
