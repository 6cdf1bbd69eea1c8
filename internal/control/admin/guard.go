package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

// policy is the Content-Security-Policy of the page.
const policy = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"

// guard sets the headers of every response, checks the Host header, and rejects cross-site
// requests.
func (s *Server) guard(next http.Handler) http.Handler {
	forged := http.NewCrossOriginProtection()
	forged.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		adminapi.NewProblem(http.StatusForbidden, adminapi.CodeForbidden,
			"a page of another origin sent this request").Write(w)
	}))
	next = forged.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		if !s.knows(r.Host) {
			adminapi.NewProblem(http.StatusForbidden, adminapi.CodeForbidden,
				"this API answers only under its own address").Write(w)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// knows reports whether a request may use this Host. A page can make its own name resolve
// to this machine, but cannot make the browser send another Host. With a token the Host
// does not matter.
func (s *Server) knows(host string) bool {
	if s.cfg.Token != "" {
		return true
	}
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.EqualFold(host, s.host) || loopback(host)
}

// private requires the token, if one is set.
func (s *Server) private(next http.Handler) http.Handler {
	if s.cfg.Token == "" {
		return next
	}
	want := sha256.Sum256([]byte(s.cfg.Token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		// Comparing hashes hides the length and content of the token from timing attacks.
		got := sha256.Sum256([]byte(token))
		if !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", `Bearer realm="bezoar"`)
			adminapi.NewProblem(http.StatusUnauthorized, adminapi.CodeUnauthorized,
				"send the admin token as a bearer token").Write(w)
			return
		}
		next.ServeHTTP(w, r)
	})
}
