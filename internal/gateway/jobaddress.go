package gateway

import (
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar/internal/gateway/forwarded"
	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
)

// callerIP returns the address of the caller: the last one that a trusted proxy
// vouches for.
func (j *job) callerIP() string {
	if !j.trusted() {
		return j.peer.ip
	}
	w := j.hops()
	if w.Unread != "" {
		j.s.unreadable(j.peer.ip, w.Unread)
	}
	return w.IP
}

// hops follows X-Forwarded-For, or Forwarded if there is none of the former.
func (j *job) hops() forwarded.Hops {
	w := forwarded.Hops{Proxies: j.s.cfg.TrustedProxies, IP: j.peer.ip}
	which := h1.Forwarded
	if has(j.req.Fields, h1.XForwardedFor) {
		which = h1.XForwardedFor
	}
	for i := len(j.req.Fields) - 1; i >= 0; i-- {
		if f := &j.req.Fields[i]; f.Key == which && w.Follow(f.Value, which == h1.Forwarded) {
			break
		}
	}
	return w
}

// appendForwarded appends the addresses of the Forwarded fields as X-Forwarded-For
// has them.
func (j *job) appendForwarded(b []byte) []byte {
	for i := range j.req.Fields {
		if j.req.Fields[i].Key != h1.Forwarded {
			continue
		}
		var items []string // the last one first
		for list := j.req.Fields[i].Value; list != ""; {
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

// unreadEvery is how often what a proxy says unreadably is logged.
const unreadEvery = time.Minute

// unreadable logs what a trusted proxy says of the caller and nobody understands.
func (s *settings) unreadable(proxy, said string) {
	now := time.Now().UnixNano()
	last := s.unread.Load()
	if last != 0 && now-last < int64(unreadEvery) || !s.unread.CompareAndSwap(last, now) {
		return
	}
	s.cfg.Log.Warn("a trusted proxy says who calls in a way that cannot be read; such callers count as one",
		"proxy", proxy, "said", said[:min(len(said), 100)], "counted as", forwarded.UnknownCaller)
}
