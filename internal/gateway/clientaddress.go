package gateway

import (
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar/internal/gateway/forwarded"
	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
)

// ip returns the address of the caller: the last one that a trusted proxy vouches for.
func (c *client) ip() string {
	if !c.trusted() {
		return c.peer.ip
	}
	w := c.hops()
	if w.Unread != "" {
		c.s.unreadable(c.peer.ip, w.Unread)
	}
	return w.IP
}

// hops follows X-Forwarded-For, or Forwarded if there is no X-Forwarded-For.
func (c *client) hops() forwarded.Hops {
	w := forwarded.Hops{Proxies: c.s.cfg.TrustedProxies, IP: c.peer.ip}
	which := h1.Forwarded
	if has(c.req.Fields, h1.XForwardedFor) {
		which = h1.XForwardedFor
	}
	for i := len(c.req.Fields) - 1; i >= 0; i-- {
		if f := &c.req.Fields[i]; f.Key == which && w.Follow(f.Value, which == h1.Forwarded) {
			break
		}
	}
	return w
}

// appendForwarded appends the addresses of the Forwarded fields in the form of X-Forwarded-For.
func (c *client) appendForwarded(b []byte) []byte {
	for i := range c.req.Fields {
		if c.req.Fields[i].Key != h1.Forwarded {
			continue
		}
		var items []string // the last one first
		for list := c.req.Fields[i].Value; list != ""; {
			var item string
			if item, list = forwarded.LastItem(list); item != "" {
				items = append(items, item)
			}
		}
		for _, item := range slices.Backward(items) {
			addr, ok := forwarded.HopAddress(forwarded.Param(item, "for"))
			if !ok {
				addr = forwarded.UnknownCaller
			}
			b = append(append(b, addr...), ", "...)
		}
	}
	return b
}

// unreadEvery is how often an unreadable field of a proxy is logged.
const unreadEvery = time.Minute

// unreadable logs an unreadable field of a trusted proxy.
func (s *settings) unreadable(proxy, said string) {
	now := time.Now().UnixNano()
	last := s.unread.Load()
	if last != 0 && now-last < int64(unreadEvery) || !s.unread.CompareAndSwap(last, now) {
		return
	}
	s.cfg.Log.Warn("a trusted proxy names the caller in an unreadable form; such callers count as one",
		"proxy", proxy, "said", said[:min(len(said), 100)], "counted as", forwarded.UnknownCaller)
}

// trusted reports whether the peer is a trusted proxy.
func (c *client) trusted() bool {
	if len(c.s.cfg.TrustedProxies) == 0 {
		return false
	}
	m := c.peer.cache
	if m == nil {
		return c.s.trusts(c.peer.ip)
	}
	if !m.trustKnown {
		m.trustKnown, m.trusted = true, c.s.trusts(c.peer.ip)
	}
	return m.trusted
}

func (s *settings) trusts(ip string) bool { return forwarded.Among(s.cfg.TrustedProxies, ip) }
