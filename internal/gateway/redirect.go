package gateway

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
	"github.com/bezoar-dev/bezoar/internal/gateway/problem"
)

// Redirect sends callers to another address, without a worker.
type Redirect struct {
	// To is the new address: a scheme and a host, with or without a path. {host} stands for the requested host, without its
	// port. The request's path and query are appended.
	To     string
	Status int // 301, 302, 307 or 308; default 308, which keeps method and body
}

// hostMark is the placeholder for the host.
const hostMark = "{host}"

func (d *Redirect) check() error {
	if d == nil {
		return nil
	}
	if d.Status != 0 && !slices.Contains([]int{301, 302, 307, 308}, d.Status) {
		return fmt.Errorf("Redirect.Status is %d, want 301, 302, 307 or 308", d.Status)
	}
	if err := CheckRedirect(d.To); err != nil {
		return fmt.Errorf("Redirect.To %w", err)
	}
	return nil
}

// CheckRedirect returns the fault of a redirect address.
func CheckRedirect(to string) error {
	u, err := url.Parse(strings.Replace(to, hostMark, "host.example", 1))
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "", u.User != nil:
		return fmt.Errorf("is %.100q, want http:// or https:// and a host, such as https://%s", to, hostMark)
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		return errors.New("has a query or a fragment, but the request's query is appended to it")
	case strings.ContainsAny(strings.Replace(to, hostMark, "", 1), " {}\\"):
		return fmt.Errorf("is %.100q, want no placeholder but %s, and that once", to, hostMark)
	}
	return nil
}

func (j *job) redirect() {
	d := j.route.Redirect
	host := strings.TrimSuffix(withoutPort(j.req.Host), ".")
	if host == "" && strings.Contains(d.To, hostMark) { // HTTP/1.0
		j.problem(problem.Document{Type: "malformed", Status: http.StatusBadRequest, Detail: "The request names no host."})
		return
	}
	target := j.req.Target
	if target == "*" {
		target = "/"
	}
	to := strings.TrimSuffix(strings.Replace(d.To, hostMark, host, 1), "/") + target
	status := cmp.Or(d.Status, http.StatusPermanentRedirect)
	j.document(status, "text/plain; charset=utf-8", []byte("It is at "+to+"\n"), []h1.Field{{Name: "Location", Value: to}})
}
