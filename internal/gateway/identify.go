package gateway

import (
	"context"
	"fmt"
	"strings"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
	"github.com/bezoar-dev/bezoar/internal/gateway/requestid"
)

// Identify returns the route and the fingerprints that a request would have, so that an operator can refuse it before it
// comes.
func (g *Gateway) Identify(r bezoar.Request) (route string, work, shape bezoar.Fingerprint, err error) {
	s := g.now.Load()
	path, _, _ := strings.Cut(r.Target, "?")
	rt, forward, _ := s.table.choose(r.Method, r.Host, path)
	if rt == nil || rt.Enqueue != nil || rt.Redirect != nil {
		return "", work, shape, fmt.Errorf("identify %s %.100s: %w", r.Method, path, ErrNoRoute)
	}
	req, rec, _, err := rebuild(r)
	if err != nil {
		return "", work, shape, fmt.Errorf("identify %s %.100s: %w", r.Method, path, err)
	}
	j := g.jobs.Get().(*job)
	j.begin(context.Background(), rec, req, peer{ip: r.Client})
	defer func() { j.end(); g.jobs.Put(j) }()
	j.s, j.client.s, j.body.s, j.route = s, s, s, rt
	j.takePath(forward)
	if err := j.gather(); err != nil {
		return "", work, shape, fmt.Errorf("identify %s %.100s: %w", r.Method, path, err)
	}
	j.readShape()
	w := j.work()
	return rt.Name, w.Fingerprint, w.Shape, nil
}

// requestID returns the caller's X-Request-Id if it is safe for logs, or a new id.
func requestID(req *h1.Request) string {
	for i := range req.Fields {
		if f := &req.Fields[i]; f.Key == h1.RequestID && requestid.Valid(f.Value) {
			return f.Value
		}
	}
	return requestid.New()
}
