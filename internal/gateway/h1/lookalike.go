package h1

// CGI-like servers (WSGI, Rack, PHP, FastCGI) convert every field name to a variable: letters become capitals, and other
// characters become underscores, except digits. For them X_Forwarded_For and X-Forwarded-For are one variable, and the last
// or the first of the two wins.

// maxFolded is longer than every name that keyOf knows.
const maxFolded = 40

// unusualKey is the key of a name that keyOf does not know.
func unusualKey(name string, odd bool) Key {
	if !odd {
		return proxyKey(name)
	}
	var folded [maxFolded]byte
	n := copy(folded[:], name)
	for i := range n {
		if !alphanumeric(folded[i]) {
			folded[i] = '-'
		}
	}
	switch s := string(folded[:n]); {
	case keyOf(s) == Other && proxyKey(s) == Other:
		return Other
	case Fold(name, "script_name"), Fold(name, "path_info"):
		return OfProxies
	}
	return Lookalike
}

// odd reports whether a field name has a character other than letters, digits and
// the hyphen.
func odd(name string) bool {
	for i := range len(name) {
		if isOdd(name[i]) {
			return true
		}
	}
	return false
}

func isOdd(c byte) bool { return !alphanumeric(c) && c != '-' }

func alphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// proxyKey returns OfProxies for fields in which a proxy names the caller or the original request, or says how it serves
// files, and which servers or frameworks believe. gunicorn takes SCRIPT_NAME off the path, which leads past the routes.
func proxyKey(name string) Key {
	if name == "" {
		return Other
	}
	switch name[0] | 0x20 {
	case 'x', 'c', 'd', 'f', 'p', 's', 't', 'w':
	default:
		return Other // the most common case
	}
	switch len(name) {
	case 8:
		return oneOf(name, "x-scheme")
	case 9:
		return oneOf(name, "x-real-ip", "client-ip", "path-info")
	case 11:
		return oneOf(name, "x-client-ip", "x-forwarded", "x-remote-ip", "x-real-port", "script-name")
	case 12:
		return oneOf(name, "x-url-scheme")
	case 13:
		return oneOf(name, "x-rewrite-url", "forwarded-for", "x-remote-addr", "fly-client-ip", "x-script-name")
	case 14:
		return oneOf(name, "x-original-url", "x-original-uri", "true-client-ip", "x-proxyuser-ip", "x-original-for")
	case 15:
		return oneOf(name, "x-original-host", "front-end-https", "proxy-client-ip", "x-sendfile-type", "x-accel-mapping")
	case 16:
		return oneOf(name, "cf-connecting-ip", "fastly-client-ip", "do-connecting-ip", "x-azure-clientip", "x-azure-socketip", "x-original-proto")
	case 17:
		return oneOf(name, "x-original-method", "x-original-prefix")
	case 18:
		return oneOf(name, "cf-connecting-ipv6", "wl-proxy-client-ip")
	case 19:
		return oneOf(name, "x-cluster-client-ip", "x-appengine-user-ip")
	case 20:
		return oneOf(name, "x-http-host-override")
	case 24:
		return oneOf(name, "x-envoy-external-address", "x-original-forwarded-for")
	}
	return Other
}

func oneOf(name string, names ...string) Key {
	for _, n := range names {
		if Fold(name, n) {
			return OfProxies
		}
	}
	return Other
}
