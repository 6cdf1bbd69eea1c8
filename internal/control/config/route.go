package config

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

func (c *Config) checkRoutes(k *checker) {
	for i := range c.Routes {
		r, at := &c.Routes[i], fmt.Sprintf("routes[%d]", i)
		r.Match.check(k, at+".match")
		r.Redirect.check(k, at+".redirect")
		switch _, ok := c.Fleets[r.Fleet]; {
		case r.Redirect != nil && (r.Enqueue != "" || r.Fleet != ""):
			k.addf(at, "keep one", "has redirect, and fleet or enqueue")
		case r.Redirect != nil:
			k.when(r.Guard != nil || r.Breaker != nil || len(r.Fallback) > 0, at, "remove them", "has a guard, a breaker or a fallback, which have no effect on a redirect")
		case r.Enqueue != "" && r.Fleet != "":
			k.addf(at, "keep one", "has both fleet and enqueue")
		case r.Enqueue != "":
			if _, ok := c.Queues[r.Enqueue]; !ok {
				fix := "define it under queues" + didYouMean(r.Enqueue, sortedKeys(c.Queues))
				k.add(at+".enqueue", flawf(fix, "there is no queue %s", quoted(r.Enqueue)), "queues."+shortKey(r.Enqueue))
			}
		case r.Fleet == "":
			k.add(at, flawf("add fleet: NAME, or enqueue: QUEUE", "has no fleet"), at+".fleet")
		case !ok:
			names := sortedKeys(c.Fleets)
			fix := "define it under fleets" + didYouMean(r.Fleet, names)
			k.add(at+".fleet", flawf(fix, "there is no fleet %s", quoted(r.Fleet)), "fleets."+shortKey(r.Fleet))
		}
		r.checkPolicy(k, at)
		r.checkProtection(k, at, c)
		r.checkWorkers(k, at, c)
		k.add(at+".buffer", flawIf(r.Buffer > c.BufferTotal, "lower it, or raise buffer_total", "%v is more than buffer_total, %v", r.Buffer, c.BufferTotal), "buffer_total")
		for j := range i {
			if c.Routes[j].Match.covers(r.Match) {
				first := fmt.Sprintf("routes[%d]", j)
				k.add(at+".match", flawf("narrow it, or remove it", "can never match: %s matches all of its requests", first), first+".match")
				break
			}
		}
	}
}

// checkWorkers checks the settings about the route's workers and their answers.
func (r *Route) checkWorkers(k *checker, at string, c *Config) {
	k.when(r.BufferAnswer > 0 && !r.Works(), at+".buffer_answer", "remove it", "has no effect, because no worker answers")
	k.when(r.BufferBody > 0 && !r.Works(), at+".buffer_body", "remove it", "has no effect, because no worker gets a body")
	k.when(r.Streams != nil && !r.Works(), at+".streams", "remove it", "has no effect, because no worker answers")
	kind, name, _ := strings.Cut(r.Sticky, ":")
	switch f := c.Fleets[r.Fleet]; {
	case r.Sticky == "":
	case !r.Works():
		k.addf(at+".sticky", "remove it", "has no effect, because no worker answers")
	case kind != "header" && kind != "cookie" || !isToken(name):
		k.addf(at+".sticky", "write header:NAME or cookie:NAME", "%s is not a value to choose a worker by", quoted(r.Sticky))
	case f.Shard != nil:
		k.add(at+".sticky", flawf("keep one", "its fleet has shards, which choose the worker"), "fleets."+shortKey(r.Fleet)+".shard")
	}
}

func (r *Route) checkPolicy(k *checker, at string) {
	if q := r.Quarantine; !q.Off && q.For > q.Max {
		k.add(at+".quarantine.for", flawf("lower it, or raise max", "%s is more than max, %s", formatDuration(q.For), formatDuration(q.Max)),
			at+".quarantine.max")
	}
	if t := r.Retry; t.BaseDelay > t.Cap {
		k.add(at+".retry.base_delay", flawf("lower it, or raise cap", "%s is more than cap, %s", formatDuration(t.BaseDelay), formatDuration(t.Cap)),
			at+".retry.cap")
	}
	if t := r.Retry.Replay; t != ReplayIdempotent && t != ReplayAll && t != ReplayNone {
		k.addf(at+".retry.replay", "write idempotent, all or none", "%s is not allowed here", quoted(string(t)))
	}
	r.checkEdits(k, at)
	k.add(at+".paths", choiceFlaw(r.Paths, []string{"normalise", "strict", "raw"}))
	k.add(at+".lookalikes", choiceFlaw(r.Lookalikes, []string{"drop", "refuse"}))
	r.checkIdentity(k, at)
	k.add(at+".client", clientFlaw(r.Client))
}

// maxEdits is the maximum number of headers that a route sets, and that it removes.
const maxEdits = 64

func (r *Route) checkEdits(k *checker, at string) {
	if p := r.StripPrefix; p != "" {
		switch {
		case !pathPrefix.MatchString(p):
			k.addf(at+".strip_prefix", "write a path such as /api", "%s is not a path prefix", quoted(p))
		case r.Match.Path != p && !strings.HasPrefix(r.Match.Path, p+"/"):
			k.add(at+".strip_prefix", flawf("match "+clip(p)+"/*", "the route matches %s, which is not below %s", quoted(r.Match.Path), quoted(p)), at+".match.path")
		case !r.Works():
			k.addf(at+".strip_prefix", "remove it", "has no effect, because no worker answers")
		}
	}
	r.RequestHeaders.check(k, at+".request_headers")
	r.AnswerHeaders.check(k, at+".answer_headers")
	k.when(!r.Works() && (r.RequestHeaders != nil || r.AnswerHeaders != nil), at, "remove them", "has request_headers or answer_headers, which have no effect, because no worker answers")
}

func (r *Redirect) check(k *checker, at string) {
	if r == nil {
		return
	}
	k.when(!slices.Contains([]int{301, 302, 307, 308}, r.Status), at+".status", "write 301, 302, 307 or 308", "%d is not a redirect status", r.Status)
	u, err := url.Parse(strings.Replace(r.To, "{host}", "host.example", 1))
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "", u.User != nil,
		strings.ContainsAny(strings.Replace(r.To, "{host}", "", 1), " {}\\"):
		k.addf(at+".to", "write https://{host}, or a host such as https://example.com", "%s is not a valid redirect target", quoted(r.To))
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		k.addf(at+".to", "remove it: the request's query is appended", "%s has a query or a fragment", quoted(r.To))
	}
}

func (e *HeaderEdit) check(k *checker, at string) {
	if e == nil {
		return
	}
	k.when(len(e.Set) > maxEdits || len(e.Remove) > maxEdits, at, "shorten it", "has more than %d headers to set or to remove", maxEdits)
	for _, name := range sortedKeys(e.Set) {
		k.add(at+".set."+shortKey(name), editFlaw(name))
	}
	for i, name := range e.Remove {
		k.add(fmt.Sprintf("%s.remove[%d]", at, i), editFlaw(name))
	}
}

// editFlaw checks the name of a header that settings set or remove.
func editFlaw(name string) *flaw {
	if f := headerFlaw(name); f != nil {
		return f
	}
	lower := strings.ReplaceAll(strings.ToLower(name), "_", "-")
	switch lower {
	case "connection", "content-length", "expect", "forwarded", "grpc-timeout", "host", "keep-alive", "proxy", "proxy-authenticate",
		"proxy-authorization", "proxy-connection", "te", "traceparent", "tracestate", "trailer", "transfer-encoding", "upgrade",
		"x-bezoar-attempt", "x-request-deadline", "x-request-id", "x-request-timeout":
		return flawf("remove it", "%s is set by the gateway", quoted(name))
	}
	if strings.HasPrefix(lower, "x-forwarded-") {
		return flawf("remove it", "%s is set by the gateway", quoted(name))
	}
	return nil
}

// Maximum numbers of names in one route.
const (
	maxIgnore   = 64
	maxHeaders  = 32
	maxVolatile = 64
)

func (r *Route) checkIdentity(k *checker, at string) {
	if n := len(r.Ignore); n > maxIgnore {
		k.addf(at+".ignore", "shorten it", "has %d items, more than %d", n, maxIgnore)
	}
	if n := len(r.Headers); n > maxHeaders {
		k.addf(at+".headers", "shorten it", "has %d items, more than %d", n, maxHeaders)
	}
	for i, s := range r.Ignore {
		k.add(fmt.Sprintf("%s.ignore[%d]", at, i), ignoreFlaw(s))
	}
	for i, h := range r.Headers {
		path := fmt.Sprintf("%s.headers[%d]", at, i)
		k.add(path, identityFlaw(h))
		k.add(path, flawIf(slices.ContainsFunc(r.Ignore, func(s string) bool { return strings.EqualFold(s, "header:"+h) }), "keep one", "%s is also listed in ignore", quoted(h)), at+".ignore")
		k.when(slices.ContainsFunc(r.Headers[:i], func(s string) bool { return strings.EqualFold(s, h) }), path, "remove it", "%s is already listed", quoted(h))
	}
	r.checkVolatile(k, at)
}

func (r *Route) checkVolatile(k *checker, at string) {
	if n := len(r.Volatile); n > maxVolatile {
		k.addf(at+".volatile", "shorten it", "has %d items, more than %d", n, maxVolatile)
	}
	for i, h := range r.Volatile {
		path := fmt.Sprintf("%s.volatile[%d]", at, i)
		k.add(path, volatileFlaw(h))
		k.add(path, flawIf(slices.ContainsFunc(r.Headers, func(s string) bool { return strings.EqualFold(s, h) }), "keep one", "%s is also listed in headers", quoted(h)), at+".headers")
		k.when(slices.ContainsFunc(r.Volatile[:i], func(s string) bool { return strings.EqualFold(s, h) }), path, "remove it", "%s is already listed", quoted(h))
	}
}

func (m *Match) check(k *checker, at string) {
	if m.Path == "" {
		k.addf(at, "write match: {path: /*} for everything", "is empty")
	} else {
		k.add(at+".path", pathFlaw(m.Path))
	}
	if host := strings.TrimPrefix(m.Host, "*."); m.Host != "" && !isHostname(host) {
		fix := "write a name such as example.com or *.example.com"
		if h, _, ok := strings.Cut(host, ":"); ok && isHostname(h) {
			fix = "write " + clip(h) + ": the port does not matter"
		}
		k.addf(at+".host", fix, "%s is not a host", quoted(m.Host))
	}
	for i, method := range m.Methods {
		path := fmt.Sprintf("%s.methods[%d]", at, i)
		k.when(!isToken(method), path, "write a method such as GET", "%s is not a method", quoted(method))
		if j := slices.Index(m.Methods, method); j < i {
			k.addf(path, "remove it", "%s is already listed", quoted(method))
		}
	}
}

func pathFlaw(p string) *flaw {
	switch star := strings.Index(p, "*"); {
	case p[0] != '/':
		return flawf("write /"+clip(p), "%s does not begin with a slash", quoted(p))
	case star >= 0 && (star != len(p)-1 || p[star-1] != '/'):
		return flawf("write an exact path, or end it in /*", "%s has a * that is not its whole last part", quoted(p))
	case strings.ContainsAny(p, "?# ") || hasControl(p):
		return flawf("write the path alone", "%s has a query, a fragment or a space", quoted(p))
	case strings.Contains(p, "//") || strings.Contains(p+"/", "/./") || strings.Contains(p+"/", "/../"):
		return flawf("write it without empty, . and .. parts", "%s is not a clean path, so nothing can match it", quoted(p))
	}
	return nil
}

// covers reports whether n, if it is as specific as m, can match no request that m does not
// match first.
func (m Match) covers(n Match) bool {
	if m.Path == "" || m.Path != n.Path || !strings.EqualFold(m.Host, n.Host) {
		return false
	}
	if len(m.Methods) == 0 || len(n.Methods) == 0 {
		return len(m.Methods) == len(n.Methods)
	}
	return !slices.ContainsFunc(n.Methods, func(s string) bool { return !slices.Contains(m.Methods, s) })
}

func ignoreFlaw(s string) *flaw {
	kind, what, ok := strings.Cut(s, ":")
	switch {
	case !ok:
		return flawf("write header:NAME, query:NAME, form:NAME or json:$.a.b", "%s has no name or path", quoted(s))
	case kind == "header":
		return identityFlaw(what)
	case kind == "query" || kind == "form":
		if what == "" {
			return flawf("write "+kind+":NAME", "%s has no name", quoted(s))
		}
		return nil
	case kind == "json":
		if !jsonPath.MatchString(what) {
			return flawf(`write $ and then .name, ["name"] or [*], such as json:$.meta.ts`, "%s is not a path into JSON", quoted(what))
		}
		return nil
	}
	return flawf("write header:, query:, form: or json:"+didYouMean(kind, []string{"header", "query", "form", "json"}),
		"%s cannot be ignored", quoted(kind))
}

func headerFlaw(name string) *flaw {
	if isToken(name) {
		return nil
	}
	return flawf("write a name such as X-Request-Id", "%s is not a header", quoted(name))
}

// identityFlaw is headerFlaw for headers that may or may not belong to a request's
// identity.
func identityFlaw(name string) *flaw {
	switch strings.ToLower(name) {
	case "content-type", "content-encoding":
		return flawf("remove it", "%s always belongs to a request's identity", quoted(name))
	case "content-length", "transfer-encoding":
		return flawf("remove it", "%s never belongs to a request's identity: the body does", quoted(name))
	}
	return headerFlaw(name)
}

// volatileFlaw is identityFlaw for headers that may differ in every request.
func volatileFlaw(name string) *flaw {
	switch {
	case strings.Contains(name, "*"):
		return flawf("list each header", "%s has a *", quoted(name))
	case strings.EqualFold(name, "host"):
		return flawf("remove it", "%s names the requested host, and always belongs to the identity", quoted(name))
	}
	return identityFlaw(name)
}

func clientFlaw(s string) *flaw {
	if s == "" || s == "ip" {
		return nil
	}
	for part := range strings.SplitSeq(s, "+") {
		if part == "client" || part == "route" || keyFlaw(part) != nil {
			if name, ok := strings.CutPrefix(part, "header:"); ok {
				return headerFlaw(name)
			}
			return flawf("write header:NAME, jwt:CLAIM or ip", "%s does not identify callers", quoted(part))
		}
	}
	return nil
}

// isToken reports whether s is a token of RFC 9110: a method or header name.
func isToken(s string) bool {
	return s != "" && len(s) <= 128 && !strings.ContainsFunc(s, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}
