package guard

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Record is one query of a query file or a log.
type Record struct {
	ID     json.RawMessage // as in the file; nil if missing
	Query  Query
	Caller Caller

	Took    time.Duration // duration of the answer; 0: unknown
	Calls   int64         // number of executions, if the record stands for several; 0 means 1
	Partial string        // which part of the query is missing from the record; empty: none
}

// NoBody is the Partial of records from access logs.
const NoBody = "bodies are not in the log"

// MaxRecord is the maximum length of a line in bytes.
const MaxRecord = 64 << 20

type recordLine struct {
	ID              json.RawMessage `json:"id"`
	Kind            string          `json:"kind"`
	Request         string          `json:"request"` // "POST /idx/_search?size=5"
	Method          string          `json:"method"`
	Path            string          `json:"path"` // same as URL
	Body            json.RawMessage `json:"body"` // JSON, or a string that contains it
	SQL             *string         `json:"sql"`
	Pattern         *string         `json:"pattern"`
	GraphQL         *string         `json:"graphql"`
	Dialect         string          `json:"dialect"`
	Flavor          string          `json:"flavor"` // same as Dialect
	Flags           string          `json:"flags"`  // of a pattern
	ContentType     string          `json:"content_type"`
	ContentEncoding string          `json:"content_encoding"`
	Caller          string          `json:"caller"`
	Class           string          `json:"class"`
	OpaqueID        string          `json:"opaque_id"`
	APIKey          string          `json:"api_key"`
	User            string          `json:"user"`
	TookMS          float64         `json:"took_ms"`
	Calls           int64           `json:"calls"`
}

// ParseRecord parses one line. The line is a JSON object, or a line of an access log, which
// has the request in quotes. An object may have kind, request, body, sql, pattern or
// graphql, dialect, caller, class, opaque_id, api_key, user, took_ms and calls. If an
// object is incomplete, ParseRecord returns its ID together with the error.
func ParseRecord(line []byte) (Record, error) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return Record{}, errors.New("read a query: the line is empty")
	}
	if line[0] == '[' && json.Valid(line) {
		return Record{}, errors.New("read a query: the line is a list; want an object")
	}
	if line[0] != '{' {
		return parseAccessLine(string(line))
	}
	var l recordLine
	if err := json.Unmarshal(line, &l); err != nil {
		if l.ID == nil {
			l.ID = idOf(line)
		}
		return Record{ID: l.ID}, fmt.Errorf("read a query: %w", ofLine(err))
	}
	r := Record{ID: l.ID, Caller: Caller{OpaqueID: l.OpaqueID, APIKey: l.APIKey, User: l.User}, Calls: max(l.Calls, 0)}
	r.Took = millis(l.TookMS)
	q := &r.Query
	q.Dialect, q.ContentType, q.ContentEncoding, q.Class = cmp.Or(l.Dialect, l.Flavor), l.ContentType, l.ContentEncoding, l.Class
	if l.Flags != "" {
		q.Dialect += "/" + l.Flags
	}
	for _, name := range []string{l.Caller, l.OpaqueID, l.User, l.APIKey} {
		q.Caller = cmp.Or(q.Caller, name)
	}
	kind, body, err := l.body()
	q.Kind, q.Body = kind, body
	if err == nil {
		err = l.request(q)
	}
	if err != nil {
		return r, fmt.Errorf("read a query: %w", err)
	}
	return r, nil
}

// ofLine rewords a JSON error for readers of the file.
func ofLine(err error) error {
	if bad, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%s is a JSON %s; want a %s", bad.Field, bad.Value, bad.Type.Kind())
	}
	return fmt.Errorf("the line is not a complete JSON object: %w", err)
}

// idOf returns the ID of a line that is not valid JSON, if it can be found.
func idOf(line []byte) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(line))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	for d.More() {
		name, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return nil
		}
		if name == "id" {
			return value
		}
	}
	return nil
}

// body returns the kind and the text of a line's query.
func (l *recordLine) body() (Kind, []byte, error) {
	kind, text, err := l.text()
	if err != nil {
		return "", nil, err
	}
	if text != nil {
		return kind, []byte(*text), nil
	}
	raw := l.Body
	if len(raw) > 0 && raw[0] == '"' {
		var s string
		err := json.Unmarshal(raw, &s)
		return kind, []byte(s), err
	}
	if string(raw) == "null" {
		raw = nil
	}
	if len(l.Body) == 0 && l.Kind == "" && l.Request == "" && l.Path == "" {
		return kind, nil, errors.New("the object contains no query: no request, body, sql, pattern or graphql")
	}
	inURL := kind == GraphQL && (l.Request != "" || l.Path != "")
	if raw == nil && !inURL && (kind == SQL || kind == Regex || kind == GraphQL) {
		return kind, nil, fmt.Errorf("want a member %s, or a body that is a string", map[Kind]string{SQL: "sql", Regex: "pattern", GraphQL: "graphql"}[kind])
	}
	return kind, raw, nil
}

// text returns the kind of a line's query, and its text if it is under a name of its own.
// If there are several texts, the stated kind selects one.
func (l *recordLine) text() (kind Kind, text *string, err error) {
	kind = Elasticsearch
	if l.Kind != "" {
		if kind, err = ParseKind(strings.ToLower(l.Kind)); err != nil {
			return "", nil, err
		}
	}
	n := 0
	for _, of := range [...]struct {
		kind Kind
		text *string
	}{{SQL, l.SQL}, {Regex, l.Pattern}, {GraphQL, l.GraphQL}} {
		switch {
		case of.text == nil:
		case l.Kind == "":
			kind, text, n = of.kind, of.text, n+1
		case kind == of.kind:
			return kind, of.text, nil
		}
	}
	if empty := string(l.Body); n > 1 || n > 0 && empty != "" && empty != "null" && empty != `""` {
		return "", nil, errors.New("the object contains more than one query: add the kind")
	}
	return kind, text, nil
}

func (l *recordLine) request(q *Query) error {
	target := cmp.Or(l.Request, strings.TrimSpace(l.Method+" "+l.Path))
	if target == "" {
		if q.Kind == Elasticsearch || q.Kind == OpenSearch {
			q.Method, q.Path = "POST", "/_search"
		}
		return nil
	}
	return q.SetRequest(target)
}

// SetRequest parses "POST /idx/_search?size=5". The default method is POST.
func (q *Query) SetRequest(request string) error {
	method, target, ok := strings.Cut(strings.TrimSpace(request), " ")
	if !ok {
		method, target = "POST", method
	}
	target, _, _ = strings.Cut(strings.TrimSpace(target), " ") // HTTP/1.1
	if _, rest, ok := strings.Cut(target, "://"); ok {
		_, path, _ := strings.Cut(rest, "/")
		target = "/" + path
	}
	if ok && isMethod(method) && (strings.HasPrefix(target, "_") || target != "" && target[0] != '/' && strings.Contains(target, "/_")) { // as in the backends' consoles
		target = "/" + target
	}
	target, _, _ = strings.Cut(target, "#")
	path, raw, _ := strings.Cut(target, "?")
	decoded, err := url.PathUnescape(path)
	if err != nil || !strings.HasPrefix(path, "/") {
		return fmt.Errorf("%q is not a request: write one such as POST /idx/_search?size=5", clip(request))
	}
	q.Method, q.Path, q.RawQuery = strings.ToUpper(method), decoded, raw
	return nil
}

func isMethod(word string) bool {
	switch strings.ToUpper(word) {
	case "GET", "POST", "PUT", "DELETE", "HEAD", "PATCH", "OPTIONS":
		return true
	}
	return false
}

func clip(s string) string {
	if len(s) > 80 {
		return s[:80] + "…"
	}
	return s
}

// parseAccessLine parses a line of the common or combined log format. The caller is the
// user, or the address if there is none. Such logs contain no bodies.
func parseAccessLine(line string) (Record, error) {
	before, rest, ok := strings.Cut(line, `"`)
	if !ok {
		return Record{}, errors.New("read a query: the line is not a JSON object and not a line of an access log")
	}
	request, after, ok := cutQuoted(rest)
	if !ok {
		return Record{}, errors.New("read a query: the request of the access log has no closing quote")
	}
	r := Record{Query: Query{Kind: Elasticsearch}}
	if err := r.Query.SetRequest(request); err != nil {
		return r, fmt.Errorf("read a query: %w", err)
	}
	if m := r.Query.Method; m == "POST" || m == "PUT" {
		r.Partial = NoBody
	}
	r.Took = requestTime(after)
	if f := strings.Fields(before); len(f) > 0 {
		r.Query.Caller = f[0]
		if len(f) > 2 && f[2] != "-" {
			r.Query.Caller, r.Caller.User = f[2], f[2]
		}
	}
	return r, nil
}

// cutQuoted splits a text at the closing quote. nginx escapes a quote as \x22, Apache as
// \".
func cutQuoted(s string) (text, after string, ok bool) {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			text = strings.NewReplacer(`\"`, `"`, `\x22`, `"`, `\x5C`, `\`, `\x5c`, `\`, `\\`, `\`).Replace(s[:i])
			return text, s[i+1:], true
		}
	}
	return "", "", false
}

// requestTime returns the seconds of rt=0.25 or request_time=0.25, as often added to access
// logs.
func requestTime(s string) time.Duration {
	for word := range strings.FieldsSeq(s) {
		key, value, ok := strings.Cut(strings.Trim(word, `",`), "=")
		if !ok || key != "rt" && key != "request_time" {
			continue
		}
		if f, err := strconv.ParseFloat(value, 64); err == nil {
			return millis(f * 1000)
		}
	}
	return 0
}

// millis converts milliseconds. It returns 0 for invalid values and for more than a year.
func millis(f float64) time.Duration {
	const year = 365 * 24 * 3600 * 1000
	if !(f > 0 && f < year) {
		return 0
	}
	return time.Duration(f * float64(time.Millisecond))
}

// Lines calls do for each non-blank line of r, with its number from 1. For a line longer
// than MaxRecord it calls do with an error instead. It stops at the first error that do
// returns.
func Lines(r io.Reader, do func(n int, line []byte, err error) error) error {
	in := bufio.NewReaderSize(r, 64<<10)
	var line []byte
	long := false
	for n := 1; ; {
		part, err := in.ReadSlice('\n')
		if long = long || len(line)+len(part) > MaxRecord; long {
			line = line[:0]
		} else {
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		var fault error
		switch {
		case long:
			fault = do(n, nil, fmt.Errorf("read a query: the line is longer than %d bytes", MaxRecord))
		case len(bytes.TrimSpace(line)) > 0:
			fault = do(n, line, nil)
		}
		if fault != nil || err != nil {
			return fault
		}
		line, long = line[:0], false
		n++
	}
}
