package protect

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/admission"
	"github.com/bezoar-dev/bezoar/internal/gateway/accesslog"
	"github.com/bezoar-dev/bezoar/internal/gateway/forwarded"
	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
	"github.com/bezoar-dev/bezoar/internal/gateway/requestid"
)

type request struct {
	p         *protector
	r         *http.Request
	admission admission.Admission
	clients   admission.ClientCache
	w         writer
	rec       accesslog.Record
	body      counter
	returned  bool // the handler has returned
}

func (v *request) begin(w http.ResponseWriter, r *http.Request) {
	v.r, v.returned = r, false
	v.w = writer{ResponseWriter: w, request: v, fields: v.w.fields[:0]}
	v.rec = accesslog.Record{Time: time.Now(), Route: v.p.policy.Route, Method: r.Method, Host: r.Host, Path: r.URL.Path, From: v}
}

func (v *request) serve() {
	at := admission.Request{Now: v.rec.Time, Length: v.r.ContentLength, Stream: admission.AsksForStream(v.r.Header.Get("Upgrade"), v.r.Header.Get("Accept"))}
	at.Deadline, _ = v.r.Context().Deadline()
	no := v.admission.Admit(v.r.Context(), v.p.policy, &v.clients, v, at)
	v.rec.Caller, v.rec.Plan, v.rec.Waited, v.rec.Cost = v.admission.Caller, v.admission.PlanName(), v.admission.Waited, v.admission.Cost
	if no != nil {
		v.refuse(no)
		return
	}
	v.admission.Began = time.Now()
	r := v.r
	if r.ContentLength < 0 && r.Body != nil && v.admission.Counted {
		copied := *r
		v.body = counter{ReadCloser: r.Body}
		copied.Body = &v.body
		r = &copied
	}
	v.w.recordable = v.p.policy.Cache != nil && r.Method == http.MethodGet && r.ContentLength == 0 && r.Header.Get("Range") == ""
	v.p.next.ServeHTTP(&v.w, r)
	if v.r.Context().Err() == nil {
		v.w.begin(http.StatusOK) // of a handler that wrote nothing
	}
}

// end gives back what admission took, even if the handler panics, and reports the outcome.
func (v *request) end() {
	now := time.Now()
	v.settle()
	if v.returned {
		v.w.recorder.Commit(now)
	}
	v.w.recorder.Discard()
	v.admission.Release(now)
	in := max(v.r.ContentLength, v.body.n)
	v.admission.ChargeTransfer(now, v.r.ContentLength, in, v.w.n)
	if v.p.observe != nil {
		v.rec.Duration, v.rec.BytesIn, v.rec.BytesOut, v.rec.Status = now.Sub(v.rec.Time), max(in, 0), v.w.n, v.w.status
		if !v.admission.Head.IsZero() {
			v.rec.TTFB = v.admission.Head.Sub(v.rec.Time)
		}
		v.rec.RequestID = v.id()
		v.p.observe(&v.rec)
	}
	if !v.returned {
		return // code outside may still use it after a panic
	}
	fields := v.w.fields
	clear(fields[:cap(fields)])
	*v = request{p: v.p, clients: v.clients}
	v.w.fields = fields[:0]
	v.p.requests.Put(v)
}

// settle sets what the answer says about the handler.
func (v *request) settle() {
	if v.admission.Began.IsZero() {
		return
	}
	switch status := v.w.status; {
	case (status == 0 && !v.w.hijacked || !v.returned) && v.r.Context().Err() != nil:
		v.admission.Outcome = admission.Outcome{Ignored: !errors.Is(v.r.Context().Err(), context.DeadlineExceeded), Failed: true, Dropped: true}
	case !v.returned || status >= 500:
		v.admission.Outcome = admission.Outcome{Failed: true, Dropped: status == 503}
	case status == 429:
		v.admission.Outcome = admission.Outcome{Dropped: true}
	}
}

func (v *request) id() string {
	if v.rec.RequestID == "" {
		if v.rec.RequestID = v.r.Header.Get("X-Request-Id"); !requestid.Valid(v.rec.RequestID) {
			v.rec.RequestID = requestid.New()
		}
	}
	return v.rec.RequestID
}

// refuse answers a request that is not admitted.
func (v *request) refuse(no *admission.Refusal) {
	v.rec.Rule = no.Body.Rule
	if v.fallBack(no.Cause) {
		return
	}
	fields := append(v.admission.QuotaFields(no.Fields(nil)),
		h1.Field{Name: "Content-Type", Value: "application/problem+json"},
		h1.Field{Name: "Cache-Control", Value: "no-store"},
		h1.Field{Name: "X-Request-Id", Value: v.id()},
	)
	v.send(no.Body.Status, fields, no.Document(v.id()))
}

// fallBack answers a request for which the handler cannot be called. It returns false if no fallback can answer.
func (v *request) fallBack(on admission.FallbackCause) bool {
	t := v.p.policy
	if on == "" {
		return false
	}
	for i := range v.p.fallback {
		f := &v.p.fallback[i]
		switch {
		case !admission.Covers(f.On, on):
		case f.Static != nil:
			v.rec.Fallback = admission.KindStatic
			v.send(f.Static.Code(), f.Static.Fields([]h1.Field{admission.Mark(admission.KindStatic, on)}), f.Static.Body)
			return true
		case f.Handler != nil:
			v.admission.Release(time.Now())
			v.rec.Fallback = admission.KindOther
			v.w.Header().Set(admission.FallbackField, admission.Mark(admission.KindOther, on).Value)
			f.Handler.ServeHTTP(&v.w, v.r)
			return true
		case f.Stale != nil && v.reads():
			if a, age, ok := t.Cache.Get(v.staleKey(), time.Now(), f.Stale.MaxAge); ok {
				v.rec.Fallback = admission.KindStale
				v.send(a.Status, admission.StaleFields(a, age, on), a.Body)
				return true
			}
		}
	}
	if t.Optional {
		v.rec.Fallback = admission.KindDegraded
		v.send(http.StatusNoContent, []h1.Field{{Name: admission.DegradedField, Value: string(on)}}, nil)
	}
	return t.Optional
}

// reads reports whether the request may be answered with a copy. The key of a copy does not include bodies.
func (v *request) reads() bool {
	return v.r.ContentLength == 0 && (v.r.Method == http.MethodGet || v.r.Method == http.MethodHead)
}

func (v *request) send(status int, fields []h1.Field, body []byte) {
	h := v.w.Header()
	for _, f := range fields {
		h.Add(f.Name, f.Value)
	}
	v.w.WriteHeader(status)
	if v.r.Method != http.MethodHead && !admission.Bodiless(status) {
		_, _ = v.w.Write(body) // an error means that the caller left
	}
}

func (v *request) staleKey() [16]byte {
	return v.p.policy.StaleKey(&v.clients, v.r.Host, v.r.URL.RequestURI(), func(name string) string {
		return strings.Join(v.r.Header.Values(name), ", ")
	})
}

// HeaderValue and Address make a request an admission.Identity.
func (v *request) HeaderValue(lower string) (value string, clear bool) {
	if lower == "host" {
		return v.r.Host, true
	}
	seen := false
	for name, values := range v.r.Header {
		if !h1.SameName(name, lower) {
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

func (v *request) Address() string {
	host, _, err := net.SplitHostPort(v.r.RemoteAddr)
	if err != nil {
		host = v.r.RemoteAddr
	}
	ip := forwarded.PlainIP(host)
	if len(v.p.proxies) == 0 || !forwarded.Among(v.p.proxies, ip) {
		return ip
	}
	w := forwarded.Hops{Proxies: v.p.proxies, IP: ip}
	name := "Forwarded"
	if len(v.r.Header["X-Forwarded-For"]) > 0 {
		name = "X-Forwarded-For"
	}
	for _, list := range slices.Backward(v.r.Header[name]) {
		if w.Follow(list, name == "Forwarded") {
			break
		}
	}
	return w.IP
}

// Protocol returns the caller's version of HTTP.
func (v *request) Protocol() string { return v.r.Proto }
