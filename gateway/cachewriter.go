package gateway

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
	"github.com/bezoar-dev/bezoar/internal/gateway/stale"
)

// AnswerCache keeps the last good answers for the fallbacks of routes and protected handlers.
type AnswerCache = stale.Cache

// AnswerCacheConfig bounds [AnswerCache].
type AnswerCacheConfig = stale.Config

// NewAnswerCache returns an empty cache, or every fault of cfg.
func NewAnswerCache(cfg AnswerCacheConfig) (*AnswerCache, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("answer cache: %w", err)
	}
	return stale.New(cfg), nil
}

// cacheWriter is a caller's wire that keeps a copy of the worker's answer while it
// passes.
type cacheWriter struct {
	caller
	job      *job
	recorder stale.Recorder
	fields   []stale.Field // the head's, used again
}

// recordAnswer puts the cacheWriter between the request and its wire, if a copy of the answer
// can be of use to others.
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

// Begin starts the copy, if it is a worker's answer and one of the route's own.
func (c *cacheWriter) Begin(h *h1.Head) error {
	if j := c.job; !j.admission.head.IsZero() && j.marked.Name == "" {
		c.fields = c.fields[:0]
		for i := range h.Fields {
			if f := &h.Fields[i]; f.Key != h1.RequestID && f.Name != policyField && f.Name != limitField {
				c.fields = append(c.fields, stale.Field{Name: f.Name, Value: f.Value})
			}
		}
		c.recorder = j.admission.policy.cache.Record(j.staleKey(), stale.Answer{
			Status: h.Status, Header: c.fields, Credentials: j.admission.policy.credentials(j),
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
	c.job.admission.head = time.Time{}
	return c.caller.Reset()
}

// reads reports whether the request may be answered with a copy. The key of a
// copy knows nothing of bodies, so that one with a body has none: searches are
// sent as GET with a body, and their answers depend on it.
func (j *job) reads() bool {
	return j.req.Length == 0 && (j.req.Method == http.MethodGet || j.req.Method == http.MethodHead)
}

// staleKey is the key of what a GET of the target would be answered, by the
// headers that answers may depend on.
func (t *routePolicy) staleKey(m *clientCache, host, target string, value func(name string) string) [16]byte {
	b := append(m.buf[:0], t.secret[:]...)
	for _, s := range [...]string{t.route, host, target} {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	b = t.cache.AppendVary(b, value)
	full := sha256.Sum256(b)
	if m.buf = b; cap(b) > maxCached {
		m.buf = nil
	}
	return [16]byte(full[:16])
}

func (j *job) staleKey() [16]byte {
	return j.route.policy.staleKey(j.clientCache(), j.req.Host, j.req.Target, func(name string) string { return j.joined(name) })
}

// joined returns the field's lines as one.
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

// credentials reports whether the request has something that tells users apart,
// so that its answer may be for one of them alone.
func (t *routePolicy) credentials(a clientIdentity) bool {
	for _, name := range t.identityHeaders {
		if v, clear := a.field(name); v != "" || !clear {
			return true
		}
	}
	return false
}
