package querylog

import (
	"cmp"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/guard"
)

// slowLine reads a line of a slow log of Elasticsearch or OpenSearch:
//
//	[time][WARN ][i.s.s.query] [node] [index][0] took[5.2ms], took_millis[5], …, source[{…}], id[…],
func slowLine(line string) (guard.Record, error) {
	head, rest, ok := strings.Cut(line, " took[")
	if !ok || !strings.HasPrefix(line, "[") || !strings.HasSuffix(head, "]") {
		return guard.Record{}, errOther
	}
	rest = "took[" + rest
	said, source, ok := strings.Cut(rest, ", source[")
	if !ok || !strings.Contains(said, "search_type[") || strings.Contains(head, "s.fetch") || strings.Contains(head, "slowlog.fetch") {
		return guard.Record{}, errNoQuery
	}
	id := ""
	if i := strings.LastIndex(source, "], id["); i >= 0 {
		id, _, _ = strings.Cut(source[i+len("], id["):], "]")
		source = source[:i]
	} else {
		source = strings.TrimSuffix(strings.TrimRight(source, ", "), "]")
	}
	took := bracketed(said, "took[")
	return slow(indexOf(head), bracketed(said, "search_type["), source, tookOf(took, bracketed(said, "took_millis[")), guard.Caller{OpaqueID: id})
}

// bracketed is what stands in the brackets behind a name.
func bracketed(said, name string) string {
	_, rest, _ := strings.Cut(said, name)
	text, _, _ := strings.Cut(rest, "]")
	return text
}

// indexOf is the index of a text that ends with [index][shard].
func indexOf(head string) string {
	i := strings.LastIndex(head, "][")
	if i < 0 {
		return ""
	}
	return head[strings.LastIndexByte(head[:i], '[')+1 : i]
}

// slowObject reads the same as JSON, in its form of version 7, of OpenSearch, and
// of later versions.
func slowObject(o object) (guard.Record, error) {
	const ns = "elasticsearch.slowlog."
	kind := o.text("type", "event.dataset", "log.logger", "component")
	if o[ns+"took"] == nil && !strings.Contains(kind, "slowlog") {
		return guard.Record{}, errOther
	}
	logger := o.text("log.logger", "component", "logger")
	source := o.text(ns+"source", "source")
	if source == "" || o.text(ns+"search_type", "search_type") == "" || strings.HasSuffix(logger, "fetch") {
		return guard.Record{}, errNoQuery
	}
	caller := guard.Caller{OpaqueID: o.text(ns+"id", "id", "x-opaque-id"), User: o.text("user.name"), APIKey: o.text("apikey.name", "apikey.id")}
	index := cmp.Or(o.text("elasticsearch.index.name"), indexOf(o.text(ns+"message", "message")))
	took := tookOf(o.text(ns+"took", "took"), o.text(ns+"took_millis", "took_millis"))
	return slow(index, o.text(ns+"search_type", "search_type"), source, took, caller)
}

func slow(index, searchType, source string, took time.Duration, who guard.Caller) (guard.Record, error) {
	if !json.Valid([]byte(source)) { // some versions escape it once more
		plain := ""
		if json.Unmarshal([]byte(`"`+source+`"`), &plain) != nil || !json.Valid([]byte(plain)) {
			return guard.Record{}, errors.New("read a query: the source in the slow log is cut, or no JSON")
		}
		source = plain
	}
	rec := guard.Record{Caller: who, Took: took}
	q := &rec.Query
	q.Kind, q.Method, q.Path, q.Body = guard.Elasticsearch, "POST", "/_search", []byte(source)
	if index != "" {
		q.Path = "/" + index + "/_search"
	}
	if t := strings.ToLower(searchType); t != "query_then_fetch" && plainWord(t) {
		q.RawQuery = "search_type=" + t
	}
	q.Caller = cmp.Or(who.OpaqueID, who.User, who.APIKey)
	return rec, nil
}

func plainWord(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return (r < 'a' || r > 'z') && r != '_' })
}

// tookOf reads 5.2ms, 812micros, 1.3m, or else milliseconds.
func tookOf(took, millis string) time.Duration {
	d, err := time.ParseDuration(strings.NewReplacer("micros", "us", "nanos", "ns").Replace(took))
	if err == nil && d > 0 {
		return times(1, d, nil)
	}
	f, err := strconv.ParseFloat(millis, 64)
	return times(f, time.Millisecond, err)
}
