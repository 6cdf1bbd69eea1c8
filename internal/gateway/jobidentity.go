package gateway

import (
	"github.com/bezoar-dev/bezoar"
)

// field and address make a job a clientIdentity.
func (j *job) field(lower string) (value string, clear bool) {
	if lower == "host" {
		return j.req.Host, true
	}
	seen := false
	for i := range j.req.Fields {
		f := &j.req.Fields[i]
		if !sameName(f.Name, lower) {
			continue
		}
		if seen && f.Value != value {
			return "", false
		}
		value, seen = f.Value, true
	}
	return value, true
}

func (j *job) address() string { return j.callerIP() }

// clientCache returns what is remembered for the connection, or for the job when
// nothing is kept for that.
func (j *job) clientCache() *clientCache {
	if m := j.peer.cache; m != nil {
		return &m.clients
	}
	if j.ownCache == nil {
		j.ownCache = new(clientCache)
	}
	return j.ownCache
}

// caller returns who called, as the route tells callers apart, "" when it does
// not.
func (j *job) caller() string {
	switch {
	case j.admission.caller != "":
		return j.admission.caller
	case j.route.client == nil:
		return ""
	}
	return j.route.client.id(j.clientCache(), j, j.route.Name)
}

// client returns the fingerprint of who called, by address where the route does not
// tell callers apart: what a caller has killed says where its work runs first.
func (j *job) client() bezoar.Fingerprint {
	id := j.caller()
	if id == "" {
		id = j.clientCache().network(j.address())
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
