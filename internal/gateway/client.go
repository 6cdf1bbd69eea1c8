package gateway

import (
	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/admission"
	"github.com/bezoar-dev/bezoar/internal/gateway/accesslog"
	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
)

// client is the sender of a request, and what the request says about it.
type client struct {
	s    *settings // of the request
	req  *h1.Request
	peer peer
	own  *admission.ClientCache // used if nothing is kept for the connection
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

func (c *client) Address() string { return c.ip() }

// cache returns the cache of the connection, or of the request if nothing is kept for the connection.
func (c *client) cache() *admission.ClientCache {
	if m := c.peer.cache; m != nil {
		return &m.clients
	}
	if c.own == nil {
		c.own = new(admission.ClientCache)
	}
	return c.own
}

// name returns the caller's identity by the route's key; "" if the route has none. admitted is the name that admission has
// found already, if any.
func (c *client) name(rt *route, admitted string) string {
	switch {
	case admitted != "":
		return admitted
	case rt.client == nil:
		return ""
	}
	return rt.client.ID(c.cache(), c, rt.Name)
}

// fingerprint returns the fingerprint of the caller. A route without a key of callers uses the address: what a caller has
// killed decides where its work runs first.
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

// Protocol returns the caller's version of HTTP.
func (c *client) Protocol() string {
	if c.peer.http2 {
		return "HTTP/2.0"
	}
	return "HTTP/1." + string(rune('0'+c.req.Minor))
}
