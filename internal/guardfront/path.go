package guardfront

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/internal/gateway/urlpath"
)

// checkPrefix returns the fault of a prefix of paths.
func (g *Guard) checkPrefix() error {
	switch p := g.Prefix; {
	case p == "":
	case g.Kind != guard.Elasticsearch && g.Kind != guard.OpenSearch:
		return fmt.Errorf("Guard.Prefix has no meaning for %s", g.Kind)
	case p[0] != '/' || strings.HasSuffix(p, "/") || strings.ContainsAny(p, "%*?#") || urlpath.Resolve(p) != p:
		return fmt.Errorf("Guard.Prefix is %q, want a path such as /es", p)
	}
	return nil
}

// path returns a request's path for the guard: without the prefix, and decoded as servers decode it, because they may see a
// search where the received path shows none. judged is false for a path without a query. why says why a path cannot be one
// of the backend's.
func (g *Guard) path(received string) (path string, judged bool, why string) {
	if hidesEndpoint(received) && (g.Kind == guard.Elasticsearch || g.Kind == guard.OpenSearch) {
		return received, true, "an encoded slash comes before the beginning of an endpoint: servers read such paths in different ways"
	}
	if strings.IndexByte(received, '%') >= 0 || g.Prefix != "" && strings.Contains(received, "/.") {
		decoded := received
		if d, err := url.PathUnescape(received); err == nil {
			decoded = d
		}
		if g.Prefix != "" {
			decoded = urlpath.Resolve(decoded)
		}
		if path, judged, why = g.within(decoded); judged {
			return path, judged, why
		}
	}
	return g.within(received)
}

// hidesEndpoint reports whether a path has another endpoint if %2f is a slash: a%2f_scripts%2fb/_search is either a search
// of one odd index, or a script.
func hidesEndpoint(received string) bool {
	for i := 0; i+3 < len(received); i++ {
		if received[i] != '%' || !strings.EqualFold(received[i:i+3], "%2f") {
			continue
		}
		if next := received[i+3:]; next[0] == '_' || len(next) > 2 && strings.EqualFold(next[:3], "%5f") {
			return true
		}
	}
	return false
}

func (g *Guard) within(path string) (rest string, judged bool, why string) {
	rest, ok := strings.CutPrefix(path, g.Prefix)
	if !ok || g.Prefix != "" && rest != "" && rest[0] != '/' {
		return path, true, fmt.Sprintf("the path does not begin with %s", g.Prefix)
	}
	if rest == "" {
		rest = "/"
	}
	return rest, g.Kind.Judges(rest), ""
}
