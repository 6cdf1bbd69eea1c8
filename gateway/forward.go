package gateway

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/h1"
)

// forward writes the head for the worker, the same for every attempt, and frames
// what is held of the body if it has to go in chunks.
func (j *job) forward() {
	r := j.req
	b := append(j.head[:0], r.Method...)
	b = append(b, ' ')
	b = append(b, r.Target...)
	b = append(b, " HTTP/1.1\r\n"...)
	b = h1.AppendField(b, "Host", r.Host)
	b = j.passFields(b)
	b = j.forwarded(b)
	b = h1.AppendField(b, "X-Request-Id", j.id)
	switch {
	case r.Upgrade != "":
		b = h1.AppendField(b, "Connection", "Upgrade")
		b = h1.AppendField(b, "Upgrade", r.Upgrade)
	case r.Trailers:
		b = append(b, "Connection: TE\r\nTE: trailers\r\n"...)
	}
	j.head = j.frame(b)
	j.base = len(j.head) - len("\r\n")
}

// passFields appends the caller's fields that are meant for the worker.
func (j *job) passFields(b []byte) []byte {
	r := j.req
	named := namesFields(r.Fields)
	for i := range r.Fields {
		f := &r.Fields[i]
		switch f.Key {
		case h1.Other, h1.ContentType, h1.Date, h1.IdempotencyKey, h1.RequestDeadline:
		case h1.RequestTimeout, h1.GRPCTimeout:
			continue // every attempt has its own, unless what the caller says makes no sense
		case h1.TraceParent:
			if !j.traced || j.spans != nil {
				continue // invalid, or every attempt has its own
			}
		case h1.TraceState:
			if !j.traced {
				continue // it means nothing then
			}
		case h1.Forwarded, h1.XForwarded:
			if !j.trusted() {
				continue
			}
		default: // hop by hop, or written anew
			continue
		}
		if named && h1.Named(r.Fields, f.Name) {
			continue
		}
		b = h1.AppendField(b, f.Name, f.Value)
	}
	return b
}

// namesFields reports whether a Connection field holds more than the usual words.
func namesFields(fields []h1.Field) bool {
	for i := range fields {
		if f := &fields[i]; f.Key == h1.Connection && f.Value != "" &&
			!h1.Fold(f.Value, "keep-alive") && !h1.Fold(f.Value, "close") && !h1.Fold(f.Value, "upgrade") {
			return true
		}
	}
	return false
}

// forwarded appends X-Forwarded-For, -Host and -Proto: what a trusted proxy
// said and who that was, or else only what we see ourselves.
func (j *job) forwarded(b []byte) []byte {
	proto := "http"
	if j.peer.secure {
		proto = "https"
	}
	host := j.req.Host
	b = append(b, "X-Forwarded-For: "...)
	if j.trusted() {
		for i := range j.req.Fields {
			switch f := &j.req.Fields[i]; f.Key {
			case h1.XForwardedFor:
				b = append(append(b, f.Value...), ", "...)
			case h1.XForwardedHost:
				host = f.Value
			case h1.XForwardedProto:
				proto = f.Value
			default: // not about this
			}
		}
	}
	b = append(append(b, j.peer.ip...), "\r\n"...)
	b = h1.AppendField(b, "X-Forwarded-Host", host)
	return h1.AppendField(b, "X-Forwarded-Proto", proto)
}

// trusted reports whether the peer is a proxy whose word counts.
func (j *job) trusted() bool {
	if len(j.s.cfg.TrustedProxies) == 0 {
		return false
	}
	m := j.peer.cache
	if m == nil {
		return j.s.trusts(j.peer.ip)
	}
	if !m.trustKnown {
		m.trustKnown, m.trusted = true, j.s.trusts(j.peer.ip)
	}
	return m.trusted
}

func (s *settings) trusts(ip string) bool {
	addr, err := netip.ParseAddr(ip)
	if err != nil {
		return false
	}
	for _, p := range s.cfg.TrustedProxies {
		if p.Contains(addr.Unmap()) {
			return true
		}
	}
	return false
}

// plainIP returns ip if it is an address and can stand in a field, or else the
// word that RFC 7239 has for it.
func plainIP(ip string) string {
	addr, err := netip.ParseAddr(ip)
	if err != nil || addr.Zone() != "" {
		return "unknown"
	}
	return addr.Unmap().String()
}

// callerIP returns the address of the caller: the last one that a trusted proxy
// vouches for.
func (j *job) callerIP() string {
	ip := j.peer.ip
	if !j.trusted() {
		return ip
	}
	for i := len(j.req.Fields) - 1; i >= 0; i-- {
		f := &j.req.Fields[i]
		if f.Key != h1.XForwardedFor {
			continue
		}
		for list := f.Value; list != ""; {
			at := strings.LastIndexByte(list, ',')
			hop := strings.TrimSpace(list[at+1:])
			list = list[:max(at, 0)]
			if _, err := netip.ParseAddr(hop); err != nil {
				return ip
			}
			ip = hop
			if !j.s.trusts(hop) {
				return ip
			}
		}
	}
	return ip
}

// frame ends the head with what says where the body ends.
func (j *job) frame(b []byte) []byte {
	r := j.req
	j.framed = 0
	switch {
	case j.whole && len(j.trailers) > 0, !j.whole && r.Length < 0:
		return j.frameChunks(b)
	case j.whole && (len(j.body) > 0 || r.Method == "POST" || r.Method == "PUT" || r.Method == "PATCH"):
		b = append(b, "Content-Length: "...)
		b = strconv.AppendInt(b, int64(len(j.body)), 10)
	case !j.whole:
		b = append(b, "Content-Length: "...)
		b = strconv.AppendInt(b, r.Length, 10)
	default:
		return append(b, "\r\n"...)
	}
	return append(b, "\r\n\r\n"...)
}

// frameChunks makes one chunk of what is held of the body, and ends the body
// with its trailers if that is all of it.
func (j *job) frameChunks(b []byte) []byte {
	for i := range j.req.Fields {
		if f := &j.req.Fields[i]; f.Key == h1.Trailer {
			b = h1.AppendField(b, "Trailer", f.Value)
		}
	}
	b = append(b, "Transfer-Encoding: chunked\r\n\r\n"...)
	held := len(j.body)
	if held > 0 {
		b = strconv.AppendInt(b, int64(held), 16)
		b = append(b, "\r\n"...)
		j.tail("\r\n")
	}
	if j.whole {
		j.tail("0\r\n")
		for i := range j.trailers {
			j.tail(j.trailers[i].Name, ": ", j.trailers[i].Value, "\r\n")
		}
		j.tail("\r\n")
	}
	j.framed = len(j.body) - held
	j.body = j.body[:held]
	return b
}

// tail appends behind the body.
func (j *job) tail(parts ...string) {
	for _, s := range parts {
		if need := len(j.body) + len(s); need > cap(j.body) {
			j.grow(need + 256)
		}
		j.body = append(j.body, s...)
	}
}

// payload is what goes out behind the head at once: the held body, framed.
func (j *job) payload() []byte { return j.body[:len(j.body)+j.framed] }
