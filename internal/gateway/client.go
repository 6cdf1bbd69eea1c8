package gateway

import (
	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/admission"
	"github.com/bezoar-dev/bezoar/internal/gateway/accesslog"
	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
)

// client is who sent a request, and what the request says about that.
type client struct {
	s    *settings // those of the request
	req  *h1.Request
	peer peer
	own  *admission.ClientCache // where nothing is kept for the connection
}

var (
	_ admission.Identity  = (*client)(nil)
	_ accesslog.Requester = (*client)(nil)
)

// HeaderValue returns a field of the request for admission; see [admission.Identity].
func (c *client) HeaderValue(lower string) (value string, clear bool) {
	if lower == "host" {
		return c.req.Host, true
	}
	return h1.Value(c.req.Fields, lower)
}

// Address returns the address of the caller.
func (c *client) Address() string { return c.ip() }

// cache returns what is remembered for the connection, or for the request when
// nothing is kept for that.
func (c *client) cache() *admission.ClientCache {
	if m := c.peer.cache; m != nil {
		return &m.clients
	}
	if c.own == nil {
		c.own = new(admission.ClientCache)
	}
	return c.own
}

// name returns who called, as the route tells callers apart, "" when it does
// not. admitted is the name that admission has found already, if any.
func (c *client) name(rt *route, admitted string) string {
	switch {
	case admitted != "":
		return admitted
	case rt.client == nil:
		return ""
	}
	return rt.client.ID(c.cache(), c, rt.Name)
}

// fingerprint returns the fingerprint of who called, by address where the route does not
// tell callers apart: what a caller has killed says where its work runs first.
func (c *client) fingerprint(rt *route, admitted string) bezoar.Fingerprint {
	id := c.name(rt, admitted)
	if id == "" {
		id = c.cache().Network(c.Address())
	}
	p := rt.Printer
	m := c.peer.cache
	if m == nil {
		return p.Client(id)
	}
	if m.printer != p || m.id != id {
		m.printer, m.id, m.client = p, id, p.Client(id)
	}
	return m.client
}

// Protocol returns the version of HTTP that the caller speaks.
func (c *client) Protocol() string {
	if c.peer.http2 {
		return "HTTP/2.0"
	}
	return "HTTP/1." + string(rune('0'+c.req.Minor))
}
