package gateway

import (
	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/admission"
	"github.com/bezoar-dev/bezoar/internal/gateway/accesslog"
	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
)

// HeaderValue returns a field of the request for admission; see [admission.Identity].
func (j *job) HeaderValue(lower string) (value string, clear bool) {
	if lower == "host" {
		return j.req.Host, true
	}
	return h1.Value(j.req.Fields, lower)
}

// Address returns the address of the caller.
func (j *job) Address() string { return j.callerIP() }

// clientCache returns what is remembered for the connection, or for the job when
// nothing is kept for that.
func (j *job) clientCache() *admission.ClientCache {
	if m := j.peer.cache; m != nil {
		return &m.clients
	}
	if j.ownCache == nil {
		j.ownCache = new(admission.ClientCache)
	}
	return j.ownCache
}

// caller returns who called, as the route tells callers apart, "" when it does
// not.
func (j *job) caller() string {
	switch {
	case j.admission.Caller != "":
		return j.admission.Caller
	case j.route.client == nil:
		return ""
	}
	return j.route.client.ID(j.clientCache(), j, j.route.Name)
}

// client returns the fingerprint of who called, by address where the route does not
// tell callers apart: what a caller has killed says where its work runs first.
func (j *job) client() bezoar.Fingerprint {
	id := j.caller()
	if id == "" {
		id = j.clientCache().Network(j.Address())
	}
	p := j.route.Printer
	m := j.peer.cache
	if m == nil {
		return p.Client(id)
	}
	if m.printer != p || m.id != id {
		m.printer, m.id, m.client = p, id, p.Client(id)
	}
	return m.client
}

// Protocol returns the version of HTTP that the caller speaks.
func (j *job) Protocol() string {
	if j.peer.http2 {
		return "HTTP/2.0"
	}
	return "HTTP/1." + string(rune('0'+j.req.Minor))
}

var _ accesslog.Requester = (*job)(nil)
