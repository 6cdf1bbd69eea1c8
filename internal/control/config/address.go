package config

import (
	"net"
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// Patterns of names.
var (
	envName     = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)
	envPattern  = regexp.MustCompile(`^([^=*\s]+\*?|\*)$`)
	fleetName   = regexp.MustCompile(`^[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?$`)
	hostName    = regexp.MustCompile(`^(?i:[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)(\.(?i:[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?))*$`)
	pathPrefix  = regexp.MustCompile(`^(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+$`)
	grpcService = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*){0,15}$`)
	jsonPath    = regexp.MustCompile(`^\$(\.[^.\[*][^.\[]*|\[\*\]|\["[^"]+"\]|\['[^']+'\]){1,64}$`)
)

// addressFlaw checks host:port.
func addressFlaw(addr string) *flaw {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		fix := "write host:port, such as 127.0.0.1:8080"
		if _, err := strconv.ParseUint(addr, 10, 16); err == nil {
			fix = "write 127.0.0.1:" + addr
		}
		return flawf(fix, "%s is not an address", quoted(addr))
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || strconv.FormatUint(n, 10) != port {
		return flawf("use a port from 0 to 65535", "%s has the port %s", quoted(addr), quoted(port))
	}
	if host == "" {
		return flawf("write 127.0.0.1:"+port+", or 0.0.0.0:"+port+" to listen on every network", "%s has no host", quoted(addr))
	}
	if _, err := netip.ParseAddr(host); err != nil && !isHostname(host) {
		return flawf("write a name or an IP address before the port", "%s is not a host", quoted(host))
	}
	return nil
}

// isLoopback reports whether only this machine can reach addr. A host name other than
// localhost may resolve to any address.
func isLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

func isHostname(s string) bool {
	return len(s) <= 253 && hostName.MatchString(s)
}

func storeFlaw(store string) *flaw {
	const fix = "write sqlite:PATH, postgres://user@host/database or memory:"
	scheme, rest, ok := strings.Cut(store, ":")
	switch {
	case !ok:
		return flawf(fix, "%s is not a store", quoted(store))
	case scheme == "sqlite" && (rest == "" || strings.HasPrefix(rest, "//") || strings.ContainsAny(rest, "?#")):
		return flawf("write sqlite:PATH, such as sqlite:bezoar.db", "%s is not a path of a database file", quoted(store))
	case scheme == "sqlite", store == MemoryStore:
		return nil
	case scheme == "postgres", scheme == "postgresql":
		// The value may contain a password, so errors never repeat it.
		u, err := url.Parse(store)
		if err != nil || u.Opaque != "" {
			return flawf("write postgres://user@host:5432/database", "is not a URL")
		}
		return nil
	}
	return flawf(fix+didYouMean(scheme, []string{"sqlite", "postgres", "memory"}), "%s is not a kind of store", quoted(scheme+":"))
}

func workerFlaw(w string) *flaw {
	const fix = "write http://host:port, https://host:port or unix:/path"
	if file, ok := strings.CutPrefix(w, "unix:"); ok {
		return socketFlaw(file)
	}
	u, err := url.Parse(w)
	if err != nil || u.Host == "" || u.Hostname() == "" {
		return flawf(fix, "%s is not a worker's address", clipUserinfo(w))
	}
	port := map[string]string{"http": "80", "https": "443"}[u.Scheme]
	origin := u.Scheme + "://" + clip(u.Host)
	switch {
	case port == "":
		return flawf(fix, "%s is not a scheme for workers", quoted(u.Scheme))
	case u.User != nil:
		return flawf("remove it", "has a user name")
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		return flawf("write "+origin, "%s has a query", quoted(w))
	case basePath(w) != "" && !pathPrefix.MatchString(basePath(w)):
		return flawf("write a path such as /app", "%s has the path %s", quoted(w), quoted(u.Path))
	case u.Port() == "":
		return flawf("write "+origin+":"+port, "%s has no port", quoted(w))
	}
	if f := addressFlaw(u.Host); f != nil || u.Port() == "0" {
		return flawf(fix, "%s is not a worker's address", quoted(w))
	}
	return nil
}

// maxSocketPath is the kernel's limit for the path of a unix socket.
const maxSocketPath = 107

func socketFlaw(file string) *flaw {
	switch {
	case !path.IsAbs(file) || path.Clean(file) != file || hasControl(file):
		return flawf("write unix:/run/app.sock", "%s is not an absolute path of a socket", quoted(file))
	case len(file) > maxSocketPath:
		return flawf("shorten it", "%s is longer than %d bytes, the limit for sockets", quoted(file), maxSocketPath)
	}
	return nil
}

// basePath returns the path of a worker's address without a trailing slash.
func basePath(worker string) string {
	_, rest, ok := strings.Cut(worker, "://")
	if i := strings.IndexByte(rest, '/'); ok && i >= 0 {
		return strings.TrimRight(rest[i:], "/")
	}
	return ""
}

// urlFlaw checks an http or https URL.
func urlFlaw(s string) *flaw {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return flawf("write http://host:port/path or https://…", "%s is not a URL", clipUserinfo(s))
	case u.User != nil:
		return flawf("remove it", "has a user name")
	}
	return nil
}

// clipUserinfo returns a value for display, without a possible password.
func clipUserinfo(s string) string {
	if i := strings.LastIndex(s, "@"); i >= 0 {
		return quoted("…" + s[i:])
	}
	return quoted(s)
}

func hasControl(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}
