package gateway

import (
	"net/http"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/admission"
	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
	"github.com/bezoar-dev/bezoar/internal/gateway/stale"
)

// cacheWriter is a caller's wire that copies the worker's answer while it passes.
type cacheWriter struct {
	caller
	job      *job
	recorder stale.Recorder
	fields   []stale.Field // the head's, used again
}

// recordAnswer puts the cacheWriter between the request and its wire, if a copy of the answer can be useful for others.
func (j *job) recordAnswer() {
	if j.req.Method != http.MethodGet || j.req.Length != 0 || j.req.Upgrade != "" {
		return
	}
	for i := range j.req.Fields {
		if f := &j.req.Fields[i]; len(f.Name) == len("range") && strings.EqualFold(f.Name, "range") {
			return
		}
	}
	j.cacheWriter.caller, j.cacheWriter.job = j.from, j
	j.from = &j.cacheWriter
}

// Begin starts the copy, if one of the route's own workers answers.
func (c *cacheWriter) Begin(h *h1.Head) error {
	if j := c.job; !j.admission.Head.IsZero() && j.marked.Name == "" {
		c.fields = c.fields[:0]
		for i := range h.Fields {
			if f := &h.Fields[i]; f.Key != h1.RequestID && f.Name != admission.PolicyField && f.Name != admission.LimitField {
				c.fields = append(c.fields, stale.Field{Name: f.Name, Value: f.Value})
			}
		}
		c.recorder = j.admission.Policy.Cache.Record(j.staleKey(), stale.Answer{
			Status: h.Status, Header: c.fields, Credentials: j.admission.Policy.Credentials(&j.client),
		}, time.Now())
	}
	return c.caller.Begin(h)
}

func (c *cacheWriter) Write(p []byte) error {
	_, _ = c.recorder.Write(p) // never fails
	return c.caller.Write(p)
}

func (c *cacheWriter) End(trailers []h1.Field) error {
	if len(trailers) == 0 {
		c.recorder.Commit(time.Now())
	}
	return c.caller.End(trailers)
}

func (c *cacheWriter) Reset() bool {
	c.recorder.Discard()
	c.job.admission.Head = time.Time{}
	return c.caller.Reset()
}

// reads reports whether the request may be answered with a copy. A request with a body may not: the key of a copy does not
// include bodies, but answers can depend on them, such as for searches that are sent as GET with a body.
func (j *job) reads() bool {
	return j.req.Length == 0 && (j.req.Method == http.MethodGet || j.req.Method == http.MethodHead)
}

func (j *job) staleKey() [16]byte {
	return j.route.policy.StaleKey(j.client.cache(), j.req.Host, j.req.Target, func(name string) string { return j.joined(name) })
}

// joined returns the field's lines joined by commas.
func (j *job) joined(name string) string {
	value, n := "", 0
	for i := range j.req.Fields {
		f := &j.req.Fields[i]
		if !strings.EqualFold(f.Name, name) {
			continue
		}
		if n++; n == 1 {
			value = f.Value
		} else {
			value += ", " + f.Value
		}
	}
	return value
}
