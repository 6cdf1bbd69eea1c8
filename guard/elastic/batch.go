package elastic

import (
	"bytes"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// multi reads _msearch: lines of header and body in turn. An empty line is an
// empty header.
func (r *Reader) multi(body []byte, derived bool, prefix string, p *parameters, templates bool) {
	base := 0
	if derived {
		base = -1
	}
	r.fixedURL = true
	index := r.index
	members := 0
	for from := 0; from < len(body) && r.fault == nil; {
		header, next := lineAt(body, from)
		text, after := lineAt(body, next)
		if isBlank(body[from:header]) && isBlank(body[next:text]) {
			from = after
			continue
		}
		r.part, r.index = members, index
		clear(r.most[:])
		if members++; members > maxMembers {
			r.unreadable(cost.Batch, "too many members", from)
			break
		}
		if !isBlank(body[from:header]) && r.open(body, from, header, base, derived, prefix) {
			r.header()
			r.close()
		}
		if isBlank(body[next:text]) {
			r.unreadable(cost.Unparsable, "a header without a body", from)
		} else if r.open(body, next, text, base, derived, prefix) {
			if templates {
				r.template(0, p)
			} else {
				r.search(0, p, epSearch)
			}
			r.close()
		}
		from = after
	}
	r.fixedURL = false
	r.part, r.index = 0, index
	r.add1(cost.Batch, float64(members))
}

// lineAt is where the line at from ends, and where the next begins.
func lineAt(b []byte, from int) (end, next int) {
	if from >= len(b) {
		return len(b), len(b)
	}
	if n := bytes.IndexByte(b[from:], '\n'); n >= 0 {
		return from + n, from + n + 1
	}
	return len(b), len(b)
}

func isBlank(b []byte) bool { return len(bytes.TrimSpace(b)) == 0 }

// header of a member: the index that it is about.
func (r *Reader) header() {
	at := firstOf(r.get(0, "index"), r.get(0, "indices"))
	if at <= none {
		return
	}
	total := 0.0
	r.each(at, func(e int) {
		if r.isText(e) {
			r.index = r.intern(r.bytes(e))
			if stars := indexStars(r.index); stars > 1 {
				r.add(cost.WildcardStars, stars, e)
			}
			n, _ := r.countShards(r.index)
			total += n
		}
	})
	if total > 1 {
		r.add(cost.Shards, total, at)
	}
}
