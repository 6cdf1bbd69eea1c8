package sqs

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/bezoar-dev/bezoar/queue"
)

// hosts decides which requests are accepted. Requests of SDKs never have the headers of a browser. Requests of web pages
// always have them, unless the page's own name resolves to this address.
type hosts struct {
	any   bool // signatures are required, so names do not matter
	known map[string]bool
}

func newHosts(c Config) hosts {
	h := hosts{any: c.Verifier != nil, known: map[string]bool{"localhost": true, "host.docker.internal": true}}
	for _, name := range c.Hosts {
		h.known[strings.ToLower(name)] = true
	}
	return h
}

// refuse returns why a request is refused, or nil.
func (h hosts) refuse(r *http.Request) *fault {
	if origin := r.Header.Get("Origin"); origin != "" {
		if u, err := url.Parse(origin); err != nil || u.Host == "" || !strings.EqualFold(u.Host, r.Host) {
			return denied.text("A page of another origin (%.100s) sent this request.", origin)
		}
	}
	switch site := r.Header.Get("Sec-Fetch-Site"); site {
	case "", "none", "same-origin":
	default:
		return denied.text("A page of another site sent this request (Sec-Fetch-Site: %.20s).", site)
	}
	if !h.any && !h.knows(r.Host) {
		return denied.text("This server does not answer to the name %.100q. Call it by an IP address or localhost, or add the name to its hosts.", r.Host)
	}
	return nil
}

// knows reports whether a request may name host. A web page can make its own name resolve to this address, but not an IP
// address or these names.
func (h hosts) knows(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if h.known[host] || strings.HasSuffix(host, ".localhost") {
		return true
	}
	_, err := netip.ParseAddr(host)
	return err == nil
}

func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// health returns why requests cannot be served.
func (h *Handler) health(ctx context.Context) error {
	if h.cfg.Check != nil {
		if err := h.cfg.Check(ctx); err != nil {
			return err
		}
	}
	_, err := h.engine.Queues(ctx, queue.ListQuery{Limit: 1})
	return err
}

// page answers requests of people and probes. It reports whether this was one.
func (c *call) page() bool {
	if c.r.Method != http.MethodGet && c.r.Method != http.MethodHead {
		return false
	}
	text, status := "", http.StatusOK
	switch {
	case c.r.URL.Path == "/health":
		text = "ok\n"
		if err := c.h.health(c.ctx); err != nil {
			if c.r.Context().Err() == nil { // otherwise the probe has gone
				c.h.log.Error("SQS health: the store does not answer", "error", err)
			}
			text, status = "the store does not answer\n", http.StatusServiceUnavailable
		}
	case c.r.URL.Path == "/" && c.r.URL.RawQuery == "":
		text = "Bezoar's queues, compatible with Amazon SQS. Point an AWS SDK or the aws command here:\n\n" +
			"  aws --endpoint-url http://" + c.r.Host + " --region " + c.h.cfg.Region + " sqs list-queues\n"
	default:
		return false
	}
	header := c.w.Header()
	header.Set("Content-Type", "text/plain; charset=utf-8")
	header.Set("X-Content-Type-Options", "nosniff")
	c.w.WriteHeader(status)
	if c.r.Method == http.MethodGet {
		_, _ = c.w.Write([]byte(text)) // the caller may be gone
	}
	return true
}

// scope returns the region and access key in the credentials of a signed request, without verifying the signature.
func scope(r *http.Request, region string) (string, string) {
	_, credential, ok := strings.Cut(r.Header.Get("Authorization"), "Credential=")
	if !ok {
		if r.URL.RawQuery == "" || !strings.Contains(r.URL.RawQuery, "X-Amz-Credential=") {
			return region, ""
		}
		credential = r.URL.Query().Get("X-Amz-Credential")
	}
	if end := strings.IndexAny(credential, ", "); end >= 0 {
		credential = credential[:end]
	}
	// KEY/DATE/REGION/sqs/aws4_request; a key may contain slashes.
	var last [4]string
	for i := range last {
		at := strings.LastIndexByte(credential, '/')
		if at < 0 {
			return region, ""
		}
		credential, last[i] = credential[:at], credential[at+1:]
	}
	if isRegion(last[2]) {
		region = last[2]
	}
	if credential == "" || len(credential) > 128 || !legal(credential) {
		return region, ""
	}
	return region, credential
}

// isRegion accepts 1 to 32 of a-z, 0-9 and -.
func isRegion(s string) bool {
	return s != "" && len(s) <= 32 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}
