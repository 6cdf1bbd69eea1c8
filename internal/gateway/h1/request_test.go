package h1

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// crlf turns the line ends of a literal into those of HTTP.
func crlf(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }

func TestRequestAccepted(t *testing.T) {
	fields := func(pairs ...string) []Field {
		var f []Field
		for i := 0; i < len(pairs); i += 2 {
			f = append(f, Field{pairs[i], pairs[i+1], KeyOf(pairs[i])})
		}
		return f
	}
	for _, tc := range []struct {
		name, head string
		want       Request
	}{
		{
			"plain", "GET / HTTP/1.1\nHost: a\n\n",
			Request{Method: "GET", Target: "/", Path: "/", Host: "a", Minor: 1, Fields: fields("Host", "a")},
		},
		{
			"query and escapes stay as they are", "GET /a%2Fb/../c?x=%20&y=/..// HTTP/1.1\nhOST: a:80\n\n",
			Request{
				Method: "GET", Target: "/a%2Fb/../c?x=%20&y=/..//", Path: "/a%2Fb/../c", Query: "x=%20&y=/..//",
				Host: "a:80", Minor: 1, Fields: fields("hOST", "a:80"),
			},
		},
		{
			"absolute target beats Host", "GET http://b:8080/p?q HTTP/1.1\nHost: a\n\n",
			Request{Method: "GET", Target: "/p?q", Path: "/p", Query: "q", Host: "b:8080", Minor: 1, Fields: fields("Host", "a")},
		},
		{
			"absolute target without path", "GET HTTP://b?q HTTP/1.1\nHost: b\n\n",
			Request{Method: "GET", Target: "/?q", Path: "/", Query: "q", Host: "b", Minor: 1, Fields: fields("Host", "b")},
		},
		{
			"OPTIONS *", "OPTIONS * HTTP/1.1\nHost: a\n\n",
			Request{Method: "OPTIONS", Target: "*", Path: "*", Host: "a", Minor: 1, Fields: fields("Host", "a")},
		},
		{
			"absolute OPTIONS", "OPTIONS http://a HTTP/1.1\nHost: a\n\n",
			Request{Method: "OPTIONS", Target: "*", Path: "*", Host: "a", Minor: 1, Fields: fields("Host", "a")},
		},
		{
			"white space around values", "GET / HTTP/1.1\nHost:a\nX: \t b c\t \n\n",
			Request{Method: "GET", Target: "/", Path: "/", Host: "a", Minor: 1, Fields: fields("Host", "a", "X", "b c")},
		},
		{
			"body with a length", "POST / HTTP/1.1\nHost: a\nContent-Length: 12\n\n",
			Request{
				Method: "POST", Target: "/", Path: "/", Host: "a", Minor: 1, Length: 12,
				Fields: fields("Host", "a", "Content-Length", "12"),
			},
		},
		{
			"chunked body", "POST / HTTP/1.1\nHost: a\nTransfer-Encoding: Chunked\nTE: trailers\nExpect: 100-Continue\n\n",
			Request{
				Method: "POST", Target: "/", Path: "/", Host: "a", Minor: 1, Length: -1, Trailers: true, Expect: true,
				Fields: fields("Host", "a", "Transfer-Encoding", "Chunked", "TE", "trailers", "Expect", "100-Continue"),
			},
		},
		{
			"HTTP/1.0 closes", "GET / HTTP/1.0\n\n",
			Request{Method: "GET", Target: "/", Path: "/", Close: true},
		},
		{
			"HTTP/1.0 keeps when asked", "GET / HTTP/1.0\nConnection: x, Keep-Alive\n\n",
			Request{Method: "GET", Target: "/", Path: "/", Fields: fields("Connection", "x, Keep-Alive")},
		},
		{
			"HTTP/1.1 closes when asked", "GET / HTTP/1.1\nHost: [::1]:80\nConnection: close\n\n",
			Request{
				Method: "GET", Target: "/", Path: "/", Host: "[::1]:80", Minor: 1, Close: true,
				Fields: fields("Host", "[::1]:80", "Connection", "close"),
			},
		},
		{
			"upgrade", "GET /ws HTTP/1.1\nHost: a\nConnection: keep-alive, Upgrade\nUpgrade: websocket\n\n",
			Request{
				Method: "GET", Target: "/ws", Path: "/ws", Host: "a", Minor: 1, Upgrade: "websocket",
				Fields: fields("Host", "a", "Connection", "keep-alive, Upgrade", "Upgrade", "websocket"),
			},
		},
		{
			"upgrade that Connection does not name", "GET / HTTP/1.1\nHost: a\nUpgrade: websocket\n\n",
			Request{
				Method: "GET", Target: "/", Path: "/", Host: "a", Minor: 1,
				Fields: fields("Host", "a", "Upgrade", "websocket"),
			},
		},
		{
			"no upgrade to h2c", "GET / HTTP/1.1\nHost: a\nConnection: Upgrade\nUpgrade: H2C\n\n",
			Request{
				Method: "GET", Target: "/", Path: "/", Host: "a", Minor: 1,
				Fields: fields("Host", "a", "Connection", "Upgrade", "Upgrade", "H2C"),
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got Request
			if err := got.Parse(crlf(tc.head), Limits{}); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// refused are heads that two parsers could read in two ways, or that ask for
// what is not served.
var refused = []struct {
	name, head string // lines end in CR LF where the literal has \n
	status     int
}{
	{"empty", "\n\n", 400},
	{"no version", "GET /\nHost: a\n\n", 400},
	{"HTTP/0.9", "GET / HTTP/0.9\nHost: a\n\n", 505},
	{"HTTP/2.0", "PRI * HTTP/2.0\n\n", 505},
	{"HTTP/1.2", "GET / HTTP/1.2\nHost: a\n\n", 505},
	{"version in lower case", "GET / http/1.1\nHost: a\n\n", 400},
	{"version with more digits", "GET / HTTP/1.10\nHost: a\n\n", 400},
	{"two spaces before target", "GET  / HTTP/1.1\nHost: a\n\n", 400},
	{"two spaces behind target", "GET /  HTTP/1.1\nHost: a\n\n", 400},
	{"tab in request line", "GET\t/ HTTP/1.1\nHost: a\n\n", 400},
	{"space at the end of the request line", "GET / HTTP/1.1 \nHost: a\n\n", 400},
	{"method is no token", "G@T / HTTP/1.1\nHost: a\n\n", 400},
	{"space in target", "GET /a b HTTP/1.1\nHost: a\n\n", 400},
	{"fragment in target", "GET /#f HTTP/1.1\nHost: a\n\n", 400},
	{"control in target", "GET /\x01 HTTP/1.1\nHost: a\n\n", 400},
	{"NUL in target", "GET /\x00 HTTP/1.1\nHost: a\n\n", 400},
	{"DEL in target", "GET /\x7f HTTP/1.1\nHost: a\n\n", 400},
	{"bare CR in target", "GET /\r HTTP/1.1\nHost: a\n\n", 400},
	{"bad escape", "GET /%zz HTTP/1.1\nHost: a\n\n", 400},
	{"cut escape", "GET /%2 HTTP/1.1\nHost: a\n\n", 400},
	{"relative target", "GET a HTTP/1.1\nHost: a\n\n", 400},
	{"other scheme", "GET ftp://a/ HTTP/1.1\nHost: a\n\n", 400},
	{"user in target", "GET http://u:p@a/ HTTP/1.1\nHost: a\n\n", 400},
	{"empty host in target", "GET http:///x HTTP/1.1\nHost: a\n\n", 400},
	{"* for GET", "GET * HTTP/1.1\nHost: a\n\n", 400},
	{"CONNECT", "CONNECT a:443 HTTP/1.1\nHost: a\n\n", 405},
	{"no Host", "GET / HTTP/1.1\nX: a\n\n", 400},
	{"two Hosts", "GET / HTTP/1.1\nHost: a\nHost: a\n\n", 400},
	{"Host with a path", "GET / HTTP/1.1\nHost: a/b\n\n", 400},
	{"Host with a user", "GET / HTTP/1.1\nHost: u@a\n\n", 400},
	{"Host list", "GET / HTTP/1.1\nHost: a, b\n\n", 400},
	{"Host with a bad port", "GET / HTTP/1.1\nHost: a:8x\n\n", 400},
	{"Host with an open bracket", "GET / HTTP/1.1\nHost: [::1\n\n", 400},
	{"folded field", "GET / HTTP/1.1\nHost: a\nX: b\n c\n\n", 400},
	{"folded first field", "GET / HTTP/1.1\n Host: a\n\n", 400},
	{"tab-folded field", "GET / HTTP/1.1\nHost: a\nX: b\n\tc\n\n", 400},
	{"space before colon", "GET / HTTP/1.1\nHost: a\nContent-Length : 5\n\n", 400},
	{"tab before colon", "GET / HTTP/1.1\nHost: a\nTransfer-Encoding\t: chunked\n\n", 400},
	{"no colon", "GET / HTTP/1.1\nHost: a\nX\n\n", 400},
	{"no name", "GET / HTTP/1.1\nHost: a\n: x\n\n", 400},
	{"NUL in name", "GET / HTTP/1.1\nHost: a\nX\x00: x\n\n", 400},
	{"non-ASCII name", "GET / HTTP/1.1\nHost: a\nX\xc3: x\n\n", 400},
	{"NUL in value", "GET / HTTP/1.1\nHost: a\nX: a\x00b\n\n", 400},
	{"control in value", "GET / HTTP/1.1\nHost: a\nX: a\x0bb\n\n", 400},
	{"bare CR in value", "GET / HTTP/1.1\nHost: a\nX: a\rContent-Length: 3\n\n", 400},
	{"CL and TE", "POST / HTTP/1.1\nHost: a\nContent-Length: 3\nTransfer-Encoding: chunked\n\n", 400},
	{"TE and CL", "POST / HTTP/1.1\nHost: a\nTransfer-Encoding: chunked\nContent-Length: 0\n\n", 400},
	{"two equal CL", "POST / HTTP/1.1\nHost: a\nContent-Length: 3\nContent-Length: 3\n\n", 400},
	{"two differing CL", "POST / HTTP/1.1\nHost: a\nContent-Length: 3\nContent-Length: 4\n\n", 400},
	{"CL list", "POST / HTTP/1.1\nHost: a\nContent-Length: 3, 3\n\n", 400},
	{"CL with sign", "POST / HTTP/1.1\nHost: a\nContent-Length: +3\n\n", 400},
	{"negative CL", "POST / HTTP/1.1\nHost: a\nContent-Length: -3\n\n", 400},
	{"hexadecimal CL", "POST / HTTP/1.1\nHost: a\nContent-Length: 0x3\n\n", 400},
	{"CL with space", "POST / HTTP/1.1\nHost: a\nContent-Length: 3 3\n\n", 400},
	{"empty CL", "POST / HTTP/1.1\nHost: a\nContent-Length:\n\n", 400},
	{"huge CL", "POST / HTTP/1.1\nHost: a\nContent-Length: 18446744073709551617\n\n", 400},
	{"TE identity", "POST / HTTP/1.1\nHost: a\nTransfer-Encoding: identity\n\n", 400},
	{"TE gzip, chunked", "POST / HTTP/1.1\nHost: a\nTransfer-Encoding: gzip, chunked\n\n", 400},
	{"TE chunked, identity", "POST / HTTP/1.1\nHost: a\nTransfer-Encoding: chunked, identity\n\n", 400},
	{"TE chunked, chunked", "POST / HTTP/1.1\nHost: a\nTransfer-Encoding: chunked, chunked\n\n", 400},
	{"TE xchunked", "POST / HTTP/1.1\nHost: a\nTransfer-Encoding: xchunked\n\n", 400},
	{"TE with VT", "POST / HTTP/1.1\nHost: a\nTransfer-Encoding: \x0bchunked\n\n", 400},
	{"TE in quotes", "POST / HTTP/1.1\nHost: a\nTransfer-Encoding: \"chunked\"\n\n", 400},
	{"TE with parameter", "POST / HTTP/1.1\nHost: a\nTransfer-Encoding: chunked;q=1\n\n", 400},
	{"empty TE", "POST / HTTP/1.1\nHost: a\nTransfer-Encoding:\n\n", 400},
	{"two TE", "POST / HTTP/1.1\nHost: a\nTransfer-Encoding: chunked\nTransfer-Encoding: chunked\n\n", 400},
	{"TE and a second, unknown TE", "POST / HTTP/1.1\nHost: a\nTransfer-Encoding: chunked\nTransfer-encoding: cow\n\n", 400},
	{"TE in HTTP/1.0", "POST / HTTP/1.0\nTransfer-Encoding: chunked\n\n", 400},
	{"other Expect", "POST / HTTP/1.1\nHost: a\nExpect: 200-ok\n\n", 417},
	{"two Upgrades", "GET / HTTP/1.1\nHost: a\nConnection: upgrade\nUpgrade: a\nUpgrade: b\n\n", 400},
	{"too many fields", "GET / HTTP/1.1\nHost: a\n" + strings.Repeat("X: y\n", 200) + "\n", 431},
	{"long target", "GET /" + strings.Repeat("a", 16<<10) + " HTTP/1.1\nHost: a\n\n", 414},
}

func TestRequestRefused(t *testing.T) {
	for _, tc := range refused {
		t.Run(tc.name, func(t *testing.T) {
			var r Request
			err := r.Parse(crlf(tc.head), Limits{})
			var e *Error
			if !errors.As(err, &e) || e.Status != tc.status {
				t.Errorf("Parse: %v, want status %d", err, tc.status)
			}
		})
	}
}

func TestKeyOf(t *testing.T) {
	names := map[string]Key{
		"Connection": Connection, "Content-Length": ContentLength, "Content-Type": ContentType, "Date": Date,
		"Expect": Expect, "Forwarded": Forwarded, "Host": Host, "Idempotency-Key": IdempotencyKey,
		"Keep-Alive": KeepAlive, "Proxy-Authenticate": ProxyAuthenticate, "Proxy-Authorization": ProxyAuthorization,
		"Proxy-Connection": ProxyConnection, "X-Request-Id": RequestID, "TE": TE, "Trailer": Trailer,
		"Transfer-Encoding": TransferEncoding, "Upgrade": Upgrade, "X-Forwarded-Port": XForwarded,
		"X-Forwarded-For": XForwardedFor, "X-Forwarded-Host": XForwardedHost, "X-Forwarded-Proto": XForwardedProto,
		"Grpc-Timeout": GRPCTimeout, "X-Request-Timeout": RequestTimeout, "X-Request-Deadline": RequestDeadline,
		"Traceparent": TraceParent, "Tracestate": TraceState, "X-Bezoar-Attempt": XBezoarAttempt,
		"X_Forwarded_For": Lookalike, "X-Real-Ip": OfProxies, "Proxy": Proxy,
		"Accept": Other, "X-Forwarded-": Other, "": Other,
	}
	seen := make(map[Key]bool)
	for name, want := range names {
		for _, form := range []string{name, strings.ToLower(name), strings.ToUpper(name)} {
			if got := KeyOf(form); got != want {
				t.Errorf("KeyOf(%q) = %d, want %d", form, got, want)
			}
		}
		seen[want] = true
	}
	for k := Other; k <= XForwardedProto; k++ {
		if !seen[k] {
			t.Errorf("key %d has no name here", k)
		}
	}
}

func TestNamed(t *testing.T) {
	fields := []Field{{"Connection", "close,  X-Secret", Connection}, {"connection", "\tte ", Connection}}
	for name, want := range map[string]bool{"x-secret": true, "TE": true, "Close": true, "X-Secre": false, "": false} {
		if got := Named(fields, name); got != want {
			t.Errorf("Named(%q) = %v, want %v", name, got, want)
		}
	}
}
