package gateway

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
)

// protectedRequest is one request to a protected handler.
type protectedRequest struct {
	p         *protector
	r         *http.Request
	admission admission
	clients   clientCache
	w         protectedWriter
	rec       Record
	body      counter
	returned  bool // the handler has returned
}

func (v *protectedRequest) begin(w http.ResponseWriter, r *http.Request) {
	v.r, v.returned = r, false
	v.w = protectedWriter{ResponseWriter: w, request: v, fields: v.w.fields[:0]}
	v.rec = Record{Time: time.Now(), Route: v.p.policy.route, Method: r.Method, Host: r.Host, Path: r.URL.Path, from: v}
}

// serve answers the request.
func (v *protectedRequest) serve() {
	at := requestInfo{now: v.rec.Time, length: v.r.ContentLength, stream: asksForStream(v.r.Header.Get("Upgrade"), v.r.Header.Get("Accept"))}
	at.deadline, _ = v.r.Context().Deadline()
	no := v.admission.admit(v.r.Context(), v.p.policy, &v.clients, v, at)
	v.rec.Caller, v.rec.Plan, v.rec.Waited, v.rec.Cost = v.admission.caller, v.admission.planName(), v.admission.waited, v.admission.cost
	if no != nil {
		v.refuse(no)
		return
	}
	v.admission.began = time.Now()
	r := v.r
	if r.ContentLength < 0 && r.Body != nil && v.admission.counted {
		copied := *r
		v.body = counter{ReadCloser: r.Body}
		copied.Body = &v.body
		r = &copied
	}
	v.w.recordable = v.p.policy.cache != nil && r.Method == http.MethodGet && r.ContentLength == 0 && r.Header.Get("Range") == ""
	v.p.next.ServeHTTP(&v.w, r)
	if v.r.Context().Err() == nil {
		v.w.begin(http.StatusOK) // of a handler that wrote nothing
	}
}

// end gives back what admission took, also when the handler panics, and tells
// how it went.
func (v *protectedRequest) end() {
	now := time.Now()
	v.settle()
	if v.returned {
		v.w.recorder.Commit(now)
	}
	v.w.recorder.Discard()
	v.admission.release(now)
	in := max(v.r.ContentLength, v.body.n)
	v.admission.chargeTransfer(now, v.r.ContentLength, in, v.w.n)
	if v.p.observe != nil {
		v.rec.Duration, v.rec.BytesIn, v.rec.BytesOut, v.rec.Status = now.Sub(v.rec.Time), max(in, 0), v.w.n, v.w.status
		if !v.admission.head.IsZero() {
			v.rec.TTFB = v.admission.head.Sub(v.rec.Time)
		}
		v.rec.RequestID = v.id()
		v.p.observe(&v.rec)
	}
	if !v.returned {
		return // somebody may hold on to what a panic left behind
	}
	fields := v.w.fields
	clear(fields[:cap(fields)])
	*v = protectedRequest{p: v.p, clients: v.clients}
	v.w.fields = fields[:0]
	v.p.requests.Put(v)
}

// settle says what the answer tells about the handler.
func (v *protectedRequest) settle() {
	if v.admission.began.IsZero() {
		return
	}
	switch status := v.w.status; {
	case (status == 0 && !v.w.hijacked || !v.returned) && v.r.Context().Err() != nil:
		v.admission.outcome = outcome{ignored: !errors.Is(v.r.Context().Err(), context.DeadlineExceeded), failed: true, dropped: true}
	case !v.returned || status >= 500:
		v.admission.outcome = outcome{failed: true, dropped: status == 503}
	case status == 429:
		v.admission.outcome = outcome{dropped: true}
	}
}

// id returns the request's id.
func (v *protectedRequest) id() string {
	if v.rec.RequestID == "" {
		if v.rec.RequestID = v.r.Header.Get("X-Request-Id"); !isID(v.rec.RequestID) {
			v.rec.RequestID = newID()
		}
	}
	return v.rec.RequestID
}

// refuse answers a request that is not admitted.
func (v *protectedRequest) refuse(no *refusal) {
	v.rec.Rule = no.body.Rule
	if v.fallBack(no.cause) {
		return
	}
	fields := append(v.admission.quotaFields(no.fields(nil)),
		h1.Field{Name: "Content-Type", Value: "application/problem+json"},
		h1.Field{Name: "Cache-Control", Value: "no-store"},
		h1.Field{Name: "X-Request-Id", Value: v.id()},
	)
	v.send(no.body.Status, fields, no.document(v.id()))
}

// fallBack answers what the handler cannot be asked, if there is something to
// answer with.
func (v *protectedRequest) fallBack(on FallbackCause) bool {
	t := v.p.policy
	if on == "" {
		return false
	}
	for i := range t.fallback {
		f := &t.fallback[i]
		switch {
		case !f.isFor(on):
		case f.Static != nil:
			v.rec.Fallback = fellStatic
			v.send(f.Static.status(), f.Static.fields([]h1.Field{markOf(fellStatic, on)}), f.Static.Body)
			return true
		case f.Handler != nil:
			v.admission.release(time.Now())
			v.rec.Fallback = fellOther
			v.w.Header().Set(FallbackField, markOf(fellOther, on).Value)
			f.Handler.ServeHTTP(&v.w, v.r)
			return true
		case f.Stale != nil && v.reads():
			if a, age, ok := t.cache.Get(v.staleKey(), time.Now(), f.Stale.MaxAge); ok {
				v.rec.Fallback = fellStale
				v.send(a.Status, staleFields(a, age, on), a.Body)
				return true
			}
		}
	}
	if t.optional {
		v.rec.Fallback = fellDegraded
		v.send(http.StatusNoContent, []h1.Field{{Name: DegradedField, Value: string(on)}}, nil)
	}
	return t.optional
}

// reads reports whether the request may be answered with a copy, whose key knows
// nothing of bodies.
func (v *protectedRequest) reads() bool {
	return v.r.ContentLength == 0 && (v.r.Method == http.MethodGet || v.r.Method == http.MethodHead)
}

func (v *protectedRequest) send(status int, fields []h1.Field, body []byte) {
	h := v.w.Header()
	for _, f := range fields {
		h.Add(f.Name, f.Value)
	}
	v.w.WriteHeader(status)
	if v.r.Method != http.MethodHead && !bare(status) {
		_, _ = v.w.Write(body) // the caller is gone then
	}
}

func (v *protectedRequest) staleKey() [16]byte {
	return v.p.policy.staleKey(&v.clients, v.r.Host, v.r.URL.RequestURI(), func(name string) string {
		return strings.Join(v.r.Header.Values(name), ", ")
	})
}

// field and address make a protectedRequest a clientIdentity.
func (v *protectedRequest) field(lower string) (value string, clear bool) {
	if lower == "host" {
		return v.r.Host, true
	}
	seen := false
	for name, values := range v.r.Header {
		if !sameName(name, lower) {
			continue
		}
		for _, s := range values {
			if seen && s != value {
				return "", false
			}
			value, seen = s, true
		}
	}
	return value, true
}

func (v *protectedRequest) address() string {
	host, _, err := net.SplitHostPort(v.r.RemoteAddr)
	if err != nil {
		host = v.r.RemoteAddr
	}
	ip := plainIP(host)
	if len(v.p.proxies) == 0 || !among(v.p.proxies, ip) {
		return ip
	}
	w := hops{proxies: v.p.proxies, ip: ip}
	name := "Forwarded"
	if len(v.r.Header["X-Forwarded-For"]) > 0 {
		name = "X-Forwarded-For"
	}
	for _, list := range slices.Backward(v.r.Header[name]) {
		if w.follow(list, name == "Forwarded") {
			break
		}
	}
	return w.ip
}
