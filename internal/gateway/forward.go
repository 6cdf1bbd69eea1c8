package gateway

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/gateway/forwarded"
	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
)

// forward writes the head for the worker, which is the same for every attempt, and frames the held body if it must go in
// chunks.
func (j *job) forward() {
	r := j.req
	b := append(j.head[:0], r.Method...)
	b = append(b, ' ')
	target, stripped := j.route.stripped(r.Target)
	if strings.HasPrefix(target, "/") { // not the * of OPTIONS
		b = append(b, j.basePath()...)
	}
	b = append(b, target...)
	b = append(b, " HTTP/1.1\r\n"...)
	b = h1.AppendField(b, "Host", j.host())
	b = j.passFields(b)
	b = append(j.forwarded(b), j.route.request.lines...)
	if stripped {
		b = h1.AppendField(b, "X-Forwarded-Prefix", j.route.StripPrefix)
	}
	b = h1.AppendField(b, "X-Request-Id", j.id)
	switch {
	case r.Upgrade != "":
		b = h1.AppendField(b, "Connection", "Upgrade")
		b = h1.AppendField(b, "Upgrade", r.Upgrade)
	case r.Trailers:
		b = append(b, "Connection: TE\r\nTE: trailers\r\n"...)
	}
	b = j.frame(b)
	j.base = len(b)
	j.head = j.endHead(b)
}

// host returns the request's host for the worker.
func (j *job) host() string {
	if j.req.Host == "" {
		return j.client.peer.ownHost()
	}
	return j.req.Host
}

// basePath returns the prefix of paths for the workers that get the request.
func (j *job) basePath() string {
	if j.other != nil {
		return j.other.Base
	}
	return j.route.Base
}

// passFields appends the caller's fields for the worker.
func (j *job) passFields(b []byte) []byte {
	r := j.req
	named := namesFields(r.Fields)
	for i := range r.Fields {
		f := &r.Fields[i]
		switch f.Key {
		case h1.Other:
			j.bound = j.bound || h1.Fold(f.Name, "authorization") && bindsConnection(f.Value)
		case h1.ContentType, h1.Date, h1.IdempotencyKey, h1.RequestDeadline:
		case h1.RequestTimeout, h1.GRPCTimeout:
			continue // every attempt writes its own, unless the caller's value is invalid
		case h1.TraceParent:
			if !j.tracing.valid || j.tracing.spans != nil {
				continue // invalid, or every attempt writes its own
			}
		case h1.TraceState:
			if !j.tracing.valid {
				continue // it has no meaning then
			}
		case h1.Forwarded, h1.XForwarded, h1.OfProxies:
			if !j.client.trusted() {
				continue
			}
		default: // hop by hop, written anew, or similar to such a field
			continue
		}
		if named && h1.Named(r.Fields, f.Name) && !j.endToEnd(f) || j.route.request.drops(f.Name) ||
			f.Key == h1.XForwarded && j.route.StripPrefix != "" && h1.Fold(f.Name, "x-forwarded-prefix") {
			continue
		}
		b = h1.AppendField(b, f.Name, f.Value)
	}
	return b
}

// endToEnd reports whether a field is passed on even if a Connection field names it: fields that identify the caller or
// describe the request.
func (j *job) endToEnd(f *h1.Field) bool {
	if f.Key != h1.Other || j.identifies(f.Name) {
		return true
	}
	name := strings.ToLower(f.Name)
	for _, begin := range [...]string{"accept", "content-", "if-", "sec-"} {
		if strings.HasPrefix(name, begin) {
			return true
		}
	}
	switch name {
	case "cache-control", "origin", "pragma", "range", "referer", "user-agent":
		return true
	}
	return false
}

// identifies reports whether the field identifies the caller.
func (j *job) identifies(name string) bool {
	if h1.Fold(name, "authorization") || h1.Fold(name, "cookie") {
		return true
	}
	if j.route.policy == nil {
		return false
	}
	return slices.ContainsFunc(j.route.policy.IdentityHeaders, func(lower string) bool { return h1.SameName(name, lower) })
}

// mayTrail reports whether a trailer field may reach the worker. Servers that join head and trailers must not find there
// what the head cannot have.
func (j *job) mayTrail(f *h1.Field) bool { return f.Key == h1.Other && !j.identifies(f.Name) }

// namesFields reports whether a Connection field has more than the usual words.
func namesFields(fields []h1.Field) bool {
	for i := range fields {
		if f := &fields[i]; f.Key == h1.Connection && f.Value != "" &&
			!h1.Fold(f.Value, "keep-alive") && !h1.Fold(f.Value, "close") && !h1.Fold(f.Value, "upgrade") {
			return true
		}
	}
	return false
}

// forwarded appends X-Forwarded-For, -Host and -Proto: what a trusted proxy said and its address, or else only what the
// gateway sees itself.
func (j *job) forwarded(b []byte) []byte {
	proto := "http"
	if j.client.peer.secure {
		proto = "https"
	}
	host := j.host()
	b = append(b, "X-Forwarded-For: "...)
	if j.client.trusted() {
		if !has(j.req.Fields, h1.XForwardedFor) && has(j.req.Fields, h1.Forwarded) {
			element := j.client.hops().Element
			host, proto = cmp.Or(forwarded.Param(element, "host"), host), cmp.Or(forwarded.Param(element, "proto"), proto)
			b = j.client.appendForwarded(b)
		}
		for i := range j.req.Fields {
			switch f := &j.req.Fields[i]; f.Key {
			case h1.XForwardedFor:
				if f.Value != "" {
					b = append(append(b, f.Value...), ", "...)
				}
			case h1.XForwardedHost:
				host = f.Value
			case h1.XForwardedProto:
				proto = f.Value
			default: // other fields
			}
		}
	}
	b = append(append(b, j.client.peer.ip...), "\r\n"...)
	b = h1.AppendField(b, "X-Forwarded-Host", host)
	return h1.AppendField(b, "X-Forwarded-Proto", proto)
}

// frame appends the field that frames the body.
func (j *job) frame(b []byte) []byte {
	r := j.req
	j.body.framed = 0
	length := r.Length
	switch {
	case j.body.whole && len(j.body.trailers) > 0, !j.body.whole && r.Length < 0:
		return j.frameChunks(b)
	case j.body.whole && (len(j.body.bytes) > 0 || r.Method == "POST" || r.Method == "PUT" || r.Method == "PATCH"):
		length = int64(len(j.body.bytes))
	case j.body.whole:
		return b
	}
	b = append(b, "Content-Length: "...)
	b = strconv.AppendInt(b, length, 10)
	return append(b, "\r\n"...)
}

// endHead ends the head. If the held body goes as a chunk, the chunk's size follows.
func (j *job) endHead(b []byte) []byte {
	b = append(b, "\r\n"...)
	if j.body.framed > 0 && len(j.body.bytes) > 0 {
		b = strconv.AppendInt(b, int64(len(j.body.bytes)), 16)
		b = append(b, "\r\n"...)
	}
	return b
}

// frameChunks makes one chunk of the held body. If that is the complete body, it also writes the end and the trailers.
func (j *job) frameChunks(b []byte) []byte {
	for i := range j.req.Fields {
		if f := &j.req.Fields[i]; f.Key == h1.Trailer {
			b = h1.AppendField(b, "Trailer", f.Value)
		}
	}
	b = append(b, "Transfer-Encoding: chunked\r\n"...)
	held := len(j.body.bytes)
	if held > 0 {
		j.body.tail("\r\n")
	}
	if j.body.whole {
		j.body.tail("0\r\n")
		for i := range j.body.trailers {
			if !j.mayTrail(&j.body.trailers[i]) {
				continue
			}
			j.body.tail(j.body.trailers[i].Name, ": ", j.body.trailers[i].Value, "\r\n")
		}
		j.body.tail("\r\n")
	}
	j.body.framed = len(j.body.bytes) - held
	j.body.bytes = j.body.bytes[:held]
	return b
}
