package elastic

import (
	"bytes"
	"math"
	"strings"

	"github.com/bezoar-dev/bezoar/guard/cost"
	"github.com/bezoar-dev/bezoar/guard/internal/unescape"
)

// span is the position of a value in Query.RawQuery.
type span struct{ from, to int }

// parameters holds the URL parameters that affect the cost.
type parameters struct {
	size, from         float64
	hasSize, hasFrom   bool
	sizeAt             span
	scroll, keepAlive  []byte
	timeout            []byte
	timeoutAt          span
	terminate          float64
	terminateAt        span
	total              []byte
	totalAt            span
	q, df              []byte
	and, noLeading     bool
	source, sourceType []byte
	statement          []byte // for SQL or PPL
	docvalues          int
	stars              int    // maximum number of stars in one field name
	starsIn            string // the parameter that contains that name
	suggestSize        float64
	maxDocs            float64 // infinite if unset
	terminateSet       bool

	// For writes.
	scrollSize, slices     float64
	scrollSizeAt, slicesAt span
	hasScrollSize          bool
}

// parameters reads the URL's query. The last of several parameters of one name counts, as
// in the backend. Only old versions separate parameters at semicolons too; input that is
// read differently by the two is refused.
func (r *Reader) parameters() parameters {
	p := parameters{maxDocs: math.Inf(1)}
	raw := r.q.RawQuery
	for at := 0; at < len(raw); {
		end := strings.IndexByte(raw[at:], '&')
		if end < 0 {
			end = len(raw)
		} else {
			end += at
		}
		r.pair(&p, raw[at:end], at)
		if _, behind, more := strings.Cut(raw[at:end], ";"); more {
			r.behind(behind)
		}
		at = end + 1
	}
	return p
}

// behind refuses text that is a parameter for versions that separate at semicolons.
func (r *Reader) behind(pairs string) {
	var ignored parameters
	for more := true; more; {
		var one string
		one, pairs, more = strings.Cut(pairs, ";")
		name, _, _ := strings.Cut(one, "=")
		if r.parameter(&ignored, r.unpercent(name), nil, span{}) {
			r.unreadable(cost.Unparsable, "a parameter after a semicolon, which only some versions read as a separator", -1)
		}
	}
}

// pair reads name=value, which begins at byte at.
func (r *Reader) pair(p *parameters, pair string, at int) {
	name, value, _ := strings.Cut(pair, "=")
	r.parameter(p, r.unpercent(name), r.unpercent(value), span{at + min(len(name)+1, len(pair)), at + len(pair)})
}

func (r *Reader) parameter(p *parameters, name, value []byte, at span) (known bool) {
	switch string(name) {
	case "size":
		p.size, p.hasSize = quantityOf(value)
		p.sizeAt = at
	case "from":
		p.from, p.hasFrom = quantityOf(value)
	case "scroll":
		p.scroll = value
	case "keep_alive":
		p.keepAlive = value
	case "timeout":
		p.timeout, p.timeoutAt = value, at
	case "terminate_after":
		p.terminate, _ = parseNumber(value) // a failed parse means no limit
		p.terminateSet = len(value) > 0
		p.terminateAt = at
	case "track_total_hits":
		p.total, p.totalAt = value, at
	case "q":
		p.q = value
	case "df":
		p.df = value
	case "default_operator":
		p.and = bytes.EqualFold(value, []byte("and"))
	case "allow_leading_wildcard":
		p.noLeading = string(value) == "false"
	case "source":
		p.source = value
	case "sql", "ppl":
		p.statement = value
	case "source_content_type":
		p.sourceType = value
	case "docvalue_fields", "fielddata_fields":
		p.docvalues = 1 + bytes.Count(value, []byte(","))
		p.names("docvalue_fields", value)
	case "max_docs":
		p.maxDocs = math.Inf(1)
		if n, ok := parseNumber(value); ok && n >= 0 {
			p.maxDocs = n
		}
	case "scroll_size":
		p.scrollSize, p.hasScrollSize = quantityOf(value)
		p.scrollSizeAt = at
	case "slices":
		if p.slices, _ = quantityOf(value); string(value) == "auto" {
			p.slices = 0 // one per shard
		}
		p.slicesAt = at
	case "suggest_size":
		p.suggestSize, _ = quantityOf(value)
	case "fields":
		p.names("fields", value)
	case "stored_fields":
		p.names("stored_fields", value)
	case "_source", "_source_includes", "_source_include", "_source_excludes", "_source_exclude":
		p.names("_source", value)
	default:
		return false
	}
	return true
}

// names records the number of stars in the names of a list of fields.
func (p *parameters) names(parameter string, list []byte) {
	for more := true; more; {
		var one []byte
		one, list, more = bytes.Cut(list, []byte(","))
		if stars := bytes.Count(one, []byte("*")); stars > p.stars {
			p.stars, p.starsIn = stars, parameter
		}
	}
}

// quantityOf parses a number in the URL. A value that cannot be parsed counts as unbounded:
// Java accepts digits of other scripts.
func quantityOf(value []byte) (n float64, given bool) {
	if n, ok := parseNumber(value); ok {
		return n, true
	}
	return math.Inf(1), len(value) > 0
}

// unpercent decodes %xx and + into the arena. Plain text is copied.
func (r *Reader) unpercent(s string) []byte {
	from := len(r.arena)
	r.arena = unescape.Query(r.arena, s)
	return r.arena[from:len(r.arena):len(r.arena)]
}

// urlCap lowers a parameter, or adds it.
func (r *Reader) urlCap(at span, has bool, prefix, suffix string, base, least float64) cost.Cap {
	c := cost.Cap{Place: cost.CapURL, Start: at.from, End: at.to, Base: base, Least: least, Suffix: suffix}
	if !has {
		c.Start, c.End, c.Prefix = len(r.q.RawQuery), len(r.q.RawQuery), prefix
	}
	return c
}

const (
	assumedShards  = 1
	assumedIndices = 10
)

func or(v, otherwise float64) float64 {
	if v > 0 {
		return v
	}
	return otherwise
}

// shards measures the shards of an index expression.
func (r *Reader) shards() {
	if stars := indexStars(r.index); stars > 1 {
		if m := r.addURL(cost.WildcardStars, stars, ""); r.o.Explain {
			m.Path = "path"
		}
	}
	total, patterns := r.countShards(r.index)
	if total <= 1 {
		return
	}
	m := r.addURL(cost.Shards, total, "")
	if r.o.Explain {
		m.Path = "path"
		m.Detail = "1 shard per index without a hint"
		if patterns > 0 {
			m.Detail = "each pattern counts as " + figure(or(r.o.Defaults.Indices, assumedIndices)) + " indices without a hint"
		}
	}
}

// indexStars returns the maximum number of stars in one index name.
func indexStars(names string) float64 {
	most := 0
	for more := true; more; {
		var one string
		one, names, more = strings.Cut(names, ",")
		most = max(most, strings.Count(one, "*"))
	}
	return float64(most)
}

func (r *Reader) countShards(index string) (total float64, patterns int) {
	if h, ok := r.indexHint(); ok {
		if h.Shards > 0 {
			return h.Shards, 0
		}
		if h.Indices > 0 {
			return h.Indices * or(r.o.Defaults.Shards, assumedShards), 0
		}
	}
	each := or(r.o.Defaults.Shards, assumedShards)
	for rest := index; ; {
		one, more, found := strings.Cut(rest, ",")
		switch {
		case strings.HasPrefix(one, "-"): // an exclusion
		case one == "" || one == "_all" || strings.Contains(one, "*"):
			patterns++
			total += each * or(r.o.Defaults.Indices, assumedIndices)
		default:
			total += each
		}
		if !found {
			return total, patterns
		}
		rest = more
	}
}
