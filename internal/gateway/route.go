package gateway

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/admission"
	"github.com/bezoar-dev/bezoar/internal/gateway/urlpath"
)

// route is a compiled [Route] with its defaults.
type route struct {
	Route
	prefix bool // path matches as a prefix
	path   string
	client *admission.Key    // of Client; nil: none
	policy *admission.Policy // nil: no rules

	request, answer edit
	sticky          sticky
}

func newRoute(c Route) *route {
	c.Name = c.name()
	c.Replay = cmp.Or(c.Replay, ReplayIdempotent)
	c.Paths = cmp.Or(c.Paths, PathsNormalise)
	c.Buffer = cmp.Or(c.Buffer, DefaultBuffer)
	c.Timeout = orDefault(c.Timeout, DefaultTimeout)
	c.Upload = max(orDefault(c.Upload, DefaultUploadTimeout), c.Timeout)
	r := &route{Route: c, request: newEdit(c.Request), answer: newEdit(c.Answer)}
	r.path, r.prefix = strings.CutSuffix(c.Path, "*")
	if c.Path == "" {
		r.prefix = true
	}
	for i := range r.Hosts {
		r.Hosts = slices.Clone(r.Hosts)
		r.Hosts[i] = strings.ToLower(r.Hosts[i])
	}
	if c.Client != "" {
		r.client, _ = admission.ParseKey(c.Client, nil) // validated
	}
	r.sticky, _ = parseSticky(c.Sticky) // validated
	return r
}

func orDefault(d, deflt time.Duration) time.Duration {
	if d == 0 {
		return deflt
	}
	return d
}

// table finds the route of a request. The most specific host wins, then the longest path, an exact path before a prefix,
// then a route that names methods.
type table []*route

func newTable(routes []Route) table {
	t := make(table, 0, len(routes))
	for _, r := range routes {
		t = append(t, newRoute(r))
	}
	slices.SortStableFunc(t, func(a, b *route) int {
		return cmp.Or(
			cmp.Compare(b.hostRank(), a.hostRank()),
			cmp.Compare(len(b.path), len(a.path)),
			compareBool(a.prefix, b.prefix),
			compareBool(len(a.Methods) == 0, len(b.Methods) == 0),
		)
	})
	return t
}

// compareBool puts false first.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// hostRank is higher the more specific the route's host is: none, a pattern, a name.
func (r *route) hostRank() int {
	rank := 0
	for _, h := range r.Hosts {
		if !strings.HasPrefix(h, "*.") {
			return 2
		}
		rank = 1
	}
	return rank
}

// match returns the route for the path as written, and the first route that matches when capitals and a trailing slash are
// ignored, which may be narrower. The status says why there is none.
func (t table) match(method, host, path string) (exact, loose *route, status int) {
	status = http.StatusNotFound
	if path == "*" { // of OPTIONS, about the server as a whole
		path = "/"
	}
	for _, r := range t {
		same := r.matchPath(path)
		if !same && (loose != nil || !r.nearly(path)) || !r.matchHost(host) {
			continue
		}
		if !r.takes(method) {
			if same {
				status = http.StatusMethodNotAllowed
			}
			continue
		}
		if loose == nil {
			loose = r
		}
		if same {
			exact = r
			break
		}
	}
	if exact != nil && exact != loose && exact.alike(loose) {
		loose = exact
	}
	return exact, loose, status
}

// sole reports whether there is only one route, for all paths.
func (t table) sole() bool {
	return len(t) == 1 && t[0].prefix && (t[0].path == "" || t[0].path == "/")
}

// methods lists the methods of the routes that match host and path.
func (t table) methods(host, path string) string {
	var all []string
	if path = urlpath.Resolve(path); path == "*" {
		path = "/"
	}
	for _, r := range t {
		if r.matchPath(path) && r.matchHost(host) {
			all = append(all, r.Methods...)
		}
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ", ")
}

func (r *route) matchPath(path string) bool {
	if r.prefix {
		return strings.HasPrefix(path, r.path)
	}
	return path == r.path
}

// nearly is matchPath for servers that ignore capitals and trailing slashes.
func (r *route) nearly(path string) bool {
	if r.prefix {
		return len(path) >= len(r.path) && strings.EqualFold(path[:len(r.path)], r.path)
	}
	return strings.EqualFold(strings.TrimSuffix(path, "/"), strings.TrimSuffix(r.path, "/"))
}

// alike reports whether the routes differ only in spelling.
func (r *route) alike(o *route) bool {
	return r.prefix == o.prefix && r.hostRank() == o.hostRank() &&
		strings.EqualFold(strings.TrimSuffix(r.path, "/"), strings.TrimSuffix(o.path, "/"))
}

// takes reports whether the route allows the method. TRACE and TRACK must be named explicitly, because they echo what
// proxies have added.
func (r *route) takes(method string) bool {
	if len(r.Methods) == 0 {
		return method != http.MethodTrace && method != "TRACK"
	}
	return slices.Contains(r.Methods, method)
}

func (r *route) matchHost(host string) bool {
	if len(r.Hosts) == 0 {
		return true
	}
	host = strings.TrimSuffix(strings.ToLower(withoutPort(host)), ".")
	for _, h := range r.Hosts {
		if h == host {
			return true
		}
		if suffix, ok := strings.CutPrefix(h, "*"); ok && len(host) > len(suffix) && strings.HasSuffix(host, suffix) {
			return true
		}
	}
	return false
}

func withoutPort(host string) string {
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		return host[:i]
	}
	return host
}
