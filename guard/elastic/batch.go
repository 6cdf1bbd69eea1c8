package elastic

import (
	"bytes"
	"strings"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// multi reads _msearch: alternating lines of header and body. An empty line is an empty
// header. Up to version 7, an empty first line is skipped instead, which exchanges headers
// and bodies; such a batch is read both ways.
func (r *Reader) multi(body []byte, derived bool, prefix string, p *parameters, templates bool) {
	index := r.index
	r.fixedURL = true
	b := batch{body: body, derived: derived, prefix: prefix, templates: templates}
	r.pairs(&b, p)
	if len(body) > 0 && body[0] == '\n' {
		b.from, b.shifted = 1, true
		r.index = index
		r.pairs(&b, p)
	}
	r.fixedURL = false
	r.part, r.index = 0, index
	r.add1(cost.Batch, float64(b.members))
}

// batch says how to read the lines of a batch.
type batch struct {
	body      []byte
	from      int
	derived   bool
	prefix    string
	templates bool
	shifted   bool // second reading: no edits, and faults were already reported
	members   int
}

func (b *batch) open(r *Reader, from, to int) bool {
	switch {
	case b.derived:
		return r.open(b.body, from, to, -1, true, b.prefix)
	case b.shifted:
		return r.open(b.body, from, to, from, true, b.prefix)
	}
	return r.open(b.body, from, to, 0, false, b.prefix)
}

// pairs reads headers and bodies in turn.
func (r *Reader) pairs(b *batch, p *parameters) {
	body, index, members := b.body, r.index, 0
	last, patterns := "", 0
	for from := b.from; from < len(body) && r.fault == nil; {
		header, next := lineAt(body, from)
		text, after := lineAt(body, next)
		noHeader, noText := isBlank(body[from:header]), isBlank(body[next:text])
		if noText && (noHeader || b.shifted) {
			from = after
			continue
		}
		r.part, r.index = members, index
		clear(r.most[:])
		if members++; members > maxMembers {
			r.unreadable(cost.Batch, "too many members", from)
			break
		}
		if !noHeader && b.open(r, from, header) {
			r.header()
			r.close()
			if r.index != last && strings.ContainsAny(r.index, "*,") {
				if last, patterns = r.index, patterns+1; patterns > maxPatterns {
					r.unreadable(cost.Batch, "too many lists of indices", from)
					break
				}
			}
		}
		if noText {
			r.unreadable(cost.Unparsable, "header without a body", from)
		} else if b.open(r, next, text) {
			if b.templates {
				r.template(0, p)
			} else {
				r.search(0, p, epSearch)
			}
			r.close()
		}
		from = after
	}
	b.members = max(b.members, members)
}

// lineAt returns the end of the line at from, and the start of the next one.
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

// header reads the header of a member, which names the index.
func (r *Reader) header() {
	at := firstOf(r.get(0, "index"), r.get(0, "indices"))
	if at <= none {
		return
	}
	names, total := r.list(at)
	if names == "" {
		return
	}
	r.index = names
	if stars := indexStars(names); stars > 1 {
		r.add(cost.WildcardStars, stars, at)
	}
	if total > 1 {
		r.add(cost.Shards, total, at)
	}
}
