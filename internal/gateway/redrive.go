package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/internal/gateway/forwarded"
	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

// Errors of [Gateway.Redrive].
var (
	ErrTruncated = errors.New("only the head of the body was kept")
	ErrNoRoute   = errors.New("no route matches the request any more")
)

// MaxRedriveBody bounds the answer's body in [Redriven].
const MaxRedriveBody = 64 << 10

// Redriven is the result of running a kept request again.
type Redriven struct {
	Answer    dispatch.Answer
	Status    int    // of the worker's answer; 0: none
	Body      []byte // of the answer, at most MaxRedriveBody
	Truncated bool   // the answer was longer
	// Missing names what the kept copy lacks because it was redacted: headers by name, "target" for parameters. The request
	// was sent without them, so it may not be the same request.
	Missing []string
}

// Redrive runs the request of a dead letter again, in the lane. The answer is only in the result.
func (g *Gateway) Redrive(ctx context.Context, letter bezoar.Letter) (Redriven, error) {
	var out Redriven
	kept := letter.Request
	if kept.Truncated {
		return out, fmt.Errorf("redrive %s: %w", letter.ID, ErrTruncated)
	}
	s := g.hold()
	defer s.drop()
	rt := s.routeOf(letter)
	if rt == nil {
		return out, fmt.Errorf("redrive %s: %w", letter.ID, ErrNoRoute)
	}
	doer, ok := rt.Doer.(Redriver)
	if !ok {
		return out, fmt.Errorf("redrive %s: route %s has no lane", letter.ID, rt.Name)
	}
	req, rec, missing, err := rebuild(kept)
	if err != nil {
		return out, fmt.Errorf("redrive %s: %w", letter.ID, err)
	}
	out.Missing = missing

	j := g.jobs.Get().(*job)
	j.begin(ctx, rec, req, peer{ip: forwarded.PlainIP(kept.Client)})
	j.s, j.client.s, j.body.s, j.route = s, s, s, rt
	if err := j.gather(); err != nil {
		return out, fmt.Errorf("redrive %s: %w", letter.ID, err)
	}
	j.readShape()
	j.forward()
	w := j.work()
	if !letter.Fingerprint.IsZero() { // of the original request, before redaction
		w.Fingerprint, w.Shape = letter.Fingerprint, letter.Shape
	}
	// A request that lacks a part is another variant: if it runs clean, that says nothing about the variant that killed.
	if w.Traits != nil && !letter.Variant.IsZero() && len(missing) == 0 {
		w.Traits = keptTraits{w.Traits, letter.Variant}
	}
	out.Answer = doer.Redrive(ctx, w, j)
	j.end()
	g.jobs.Put(j)
	if rec.began && out.Answer.Kind != dispatch.Cut {
		out.Status = rec.status
	}
	out.Body, out.Truncated = rec.answer, rec.truncated
	return out, nil
}

func (s *settings) routeOf(l bezoar.Letter) *route {
	for _, r := range s.table {
		if l.Route != "" && r.Name == l.Route {
			return r
		}
	}
	path, _, _ := strings.Cut(l.Request.Target, "?")
	r, _, _ := s.table.choose(l.Request.Method, l.Request.Host, path)
	return r
}

// rebuild makes the head of a kept request and its caller, and lists what it lacks.
func rebuild(kept bezoar.Request) (*h1.Request, *recorder, []string, error) {
	var fields []h1.Field
	for name, v := range inOrder(&kept) {
		k := h1.KeyOf(name)
		switch k {
		case h1.ContentLength, h1.TransferEncoding, h1.Upgrade, h1.Expect:
			continue
		case h1.RequestTimeout, h1.RequestDeadline, h1.GRPCTimeout: // the original caller no longer waits
			continue
		default:
		}
		if !strings.Contains(v, Redacted) {
			fields = append(fields, h1.Field{Name: name, Value: v, Key: k})
		}
	}
	rec := &recorder{body: kept.Body}
	for _, name := range slices.Sorted(maps.Keys(kept.Trailer)) {
		for _, v := range kept.Trailer[name] {
			if !h1.Token(name) || strings.ContainsAny(v, "\r\n\x00") {
				return nil, nil, nil, fmt.Errorf("trailer %.80q has a byte that is not allowed", name)
			}
			if !strings.Contains(v, Redacted) {
				rec.trailers = append(rec.trailers, h1.Field{Name: name, Value: v, Key: h1.KeyOf(name)})
			}
		}
	}
	length := int64(len(kept.Body))
	if len(kept.Trailer) > 0 {
		length = -1 // only chunked bodies have trailers
	}
	req := new(h1.Request)
	err := req.Make(kept.Method, kept.Target, kept.Host, fields, length)
	return req, rec, kept.Missing(), err
}

// inOrder yields the fields of a kept request in the order of sending, or by name if the order is not known.
func inOrder(kept *bezoar.Request) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		next := make(map[string]int, len(kept.Header))
		for _, name := range kept.Order {
			key := http.CanonicalHeaderKey(name)
			i := next[key]
			if i >= len(kept.Header[key]) {
				continue // somebody has edited it
			}
			next[key] = i + 1
			if !yield(name, kept.Header[key][i]) {
				return
			}
		}
		for _, name := range slices.Sorted(maps.Keys(kept.Header)) {
			for _, v := range kept.Header[name][min(next[name], len(kept.Header[name])):] {
				if !yield(name, v) {
					return
				}
			}
		}
	}
}

// keptTraits are the traits of a request that is run again completely: it is the variant that its letter names.
type keptTraits struct {
	blame.Traits
	variant bezoar.Fingerprint
}

func (t keptTraits) Variant() bezoar.Fingerprint { return t.variant }

// recorder is the caller of a redriven request.
type recorder struct {
	body     []byte
	trailers []h1.Field
	read     bool

	status    int
	answer    []byte
	truncated bool
	began     bool
}

var _ caller = (*recorder)(nil)

func (r *recorder) Continue() error                    { return nil }
func (r *recorder) Ready() bool                        { return false }
func (r *recorder) BodyDone() bool                     { return r.read || len(r.body) == 0 }
func (r *recorder) Trailers() []h1.Field               { return r.trailers }
func (r *recorder) Patience(time.Duration, time.Time)  {}
func (r *recorder) Interrupt()                         {}
func (r *recorder) Gone() bool                         { return false }
func (*recorder) KeepHalfClosed()                      {}
func (r *recorder) Hint(int, string, []h1.Field) error { return nil }
func (r *recorder) Flush() error                       { return nil }
func (r *recorder) End([]h1.Field) error               { return nil }
func (r *recorder) Sent() bool                         { return r.began }
func (r *recorder) Reset() bool                        { return !r.began }
func (r *recorder) Close()                             {}
func (r *recorder) Abort()                             {}
func (r *recorder) Tunnel() (net.Conn, []byte, error)  { return nil, nil, errors.ErrUnsupported }
func (r *recorder) Begin(h *h1.Head) error             { r.status, r.began = h.Status, true; return nil }

func (r *recorder) Next() ([]byte, error) {
	if r.BodyDone() {
		return nil, io.EOF
	}
	r.read = true
	return r.body, nil
}

func (r *recorder) Write(p []byte) error {
	room := MaxRedriveBody - len(r.answer)
	r.truncated = r.truncated || len(p) > room
	r.answer = append(r.answer, p[:min(len(p), room)]...)
	return nil
}
