package gateway

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/control/redact"
	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
)

// Redacted stands in dead letters for values that are not kept.
const Redacted = bezoar.Redacted

const maxSample = 200

// Sample describes the request in one line without secrets.
func (j *job) Sample() string {
	s := strings.ToValidUTF8(j.req.Method+" "+j.s.redact.Target(j.req.Target), "?")
	if len(s) > maxSample {
		s = strings.ToValidUTF8(s[:maxSample-len("…")], "") + "…"
	}
	return s
}

// Keep returns the copy of the request for a dead letter.
func (j *job) Keep() bezoar.Request {
	r := bezoar.Request{
		Method:   strings.Clone(j.req.Method),
		Target:   j.s.redact.Target(j.req.Target),
		Host:     strings.Clone(j.req.Host),
		Header:   make(map[string][]string, len(j.req.Fields)),
		BodySize: j.req.Length,
		Client:   strings.Clone(j.client.ip()),
	}
	for _, f := range j.req.Fields {
		if f.Key == h1.Host {
			continue
		}
		name := http.CanonicalHeaderKey(strings.Clone(f.Name))
		r.Header[name] = append(r.Header[name], j.s.redact.Field(f.Name, f.Value))
		r.Order = append(r.Order, strings.Clone(f.Name))
	}
	limit := len(j.body.bytes)
	if j.route != nil {
		limit = min(limit, j.route.Buffer)
	}
	r.Body = bytes.Clone(j.body.bytes[:limit])
	for _, f := range j.body.trailers {
		if r.Trailer == nil {
			r.Trailer = make(map[string][]string, len(j.body.trailers))
		}
		name := http.CanonicalHeaderKey(strings.Clone(f.Name))
		r.Trailer[name] = append(r.Trailer[name], j.s.redact.Field(f.Name, f.Value))
	}
	r.Truncated = !j.body.whole || limit < len(j.body.bytes)
	switch {
	case j.body.whole:
		r.BodySize = int64(len(j.body.bytes))
	case !j.digest.IsZero():
		r.BodySize, r.Digest = j.size, j.digest
	}
	return r
}

// know makes the secrets of the request known where a worker's output is read: the
// same values as a dead letter is kept without.
func (j *job) know() {
	to := j.route.Known
	if j.other != nil {
		to = j.other.Known
	}
	if to == nil {
		return
	}
	for i := range j.req.Fields {
		if f := &j.req.Fields[i]; (f.Key == h1.Other || f.Key == h1.ProxyAuthorization) && j.s.redact.Secret(f.Name) {
			if h := j.knows(to, f.Value); h == nil {
				continue
			} else if strings.EqualFold(f.Name, "Cookie") {
				h.AddCookies(f.Value, j.s.redact)
			} else {
				h.AddCredentials(f.Value)
			}
		}
	}
	_, query, _ := strings.Cut(j.req.Target, "?")
	for query != "" {
		pair := query
		if i := strings.IndexAny(query, "&;"); i >= 0 {
			pair, query = query[:i], query[i+1:]
		} else {
			query = ""
		}
		if name, value, _ := strings.Cut(pair, "="); value != "" && j.s.redact.Parameter(name) {
			if h := j.knows(to, value); h != nil {
				h.AddCredentials(value)
			}
		}
	}
}

// knows returns where a value is made known, nil for one that is too short.
func (j *job) knows(to *redact.Values, value string) *redact.Held {
	if len(value) < redact.MinValue {
		return nil
	}
	if j.known == nil {
		j.known = to.Hold()
	}
	return j.known
}

// unknow lets go of what know has made known.
func (j *job) unknow() {
	if j.known != nil {
		j.known.End()
		j.known = nil
	}
}
