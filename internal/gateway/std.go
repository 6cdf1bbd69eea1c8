package gateway

import (
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/bezoar-dev/bezoar/internal/gateway/forwarded"
	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
	"github.com/bezoar-dev/bezoar/internal/gateway/stdwire"
)

// stdTimeout is how long a caller may take to send or take any bytes, if no server sets a time.
const stdTimeout = 60 * time.Second

// readSize is the size of a buffer for a body.
const readSize = stdwire.ReadSize

var _ caller = (*stdwire.Exchange)(nil)

// ServeHTTP answers a request that came over net/http: as HTTP/2, or where a program
// of yours mounts the gateway.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.serveStd(w, r, stdTimeout, stdTimeout)
}

// serveStd serves a request with the time that the caller has to send more of its body, and to take bytes of its answer.
func (g *Gateway) serveStd(w http.ResponseWriter, r *http.Request, send, take time.Duration) {
	s := stdwire.New(w, r, send, take, &g.reads)
	req, err := s.Request()
	if err != nil {
		var e *h1.Error
		if !errors.As(err, &e) {
			e = &h1.Error{Status: http.StatusBadRequest}
		}
		http.Error(w, http.StatusText(e.Status)+": "+e.Rule, e.Status)
		return
	}
	defer s.Release()
	ip, _, _ := net.SplitHostPort(r.RemoteAddr)
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	g.handle(r.Context(), s, req, peer{ip: forwarded.PlainIP(ip), secure: r.TLS != nil, http2: r.ProtoMajor == 2, local: local})
	s.Linger()
	if s.Aborted() {
		panic(http.ErrAbortHandler)
	}
}
