package gateway

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
)

// Redacted replaces values in dead letters that are not kept.
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
	case !j.body.digest.IsZero():
		r.BodySize, r.Digest = j.body.size, j.body.digest
	}
	return r
}

// know registers the secrets of the request, so that they are removed from the output of its workers.
func (j *job) know() {
	to := j.route.Known
	if j.other != nil {
		to = j.other.Known
	}
	if to != nil {
		j.secrets.know(to, &j.s.redact, j.req)
	}
}
