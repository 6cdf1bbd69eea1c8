package h1

import (
	"errors"
	"testing"
)

func TestResponseAccepted(t *testing.T) {
	for _, tc := range []struct {
		name, method, head string
		status             int
		reason             string
		length             int64
		bare, keep         bool
	}{
		{"length", "GET", "HTTP/1.1 200 OK\nContent-Length: 5\n\n", 200, "OK", 5, false, true},
		{"zero length", "GET", "HTTP/1.1 200 OK\nContent-Length: 0\n\n", 200, "OK", 0, false, true},
		{"space before a colon", "GET", "HTTP/1.1 200 OK\nContent-Length \t: 5\nX: a : b\n\n", 200, "OK", 5, false, true},
		{"two equal lengths", "GET", "HTTP/1.1 200 OK\nContent-Length: 5\nContent-Length: 5\n\n", 200, "OK", 5, false, true},
		{"chunked", "GET", "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n", 200, "OK", -1, false, true},
		{"until close", "GET", "HTTP/1.1 200 OK\n\n", 200, "OK", UntilClose, false, false},
		{"asks to close", "GET", "HTTP/1.1 200 OK\nContent-Length: 5\nConnection: Close\n\n", 200, "OK", 5, false, false},
		{"chunked in HTTP/1.0", "GET", "HTTP/1.0 200 OK\nConnection: keep-alive\nTransfer-Encoding: chunked\n\n", 200, "OK", -1, false, false},
		{"HEAD", "HEAD", "HTTP/1.1 200 OK\n\n", 200, "OK", 0, true, true},
		{"HEAD, no body announced", "HEAD", "HTTP/1.1 200 OK\nContent-Length: 0\n\n", 200, "OK", 0, true, true},
		{"HEAD, a body announced", "HEAD", "HTTP/1.1 200 OK\nContent-Length: 5\n\n", 200, "OK", 0, true, false},
		{"HEAD chunked", "HEAD", "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n", 200, "OK", 0, true, false},
		{"204", "GET", "HTTP/1.1 204 No Content\n\n", 204, "No Content", 0, true, true},
		{"204, a body announced", "GET", "HTTP/1.1 204 No Content\nContent-Length: 5\n\n", 204, "No Content", 0, true, false},
		{"304", "GET", "HTTP/1.1 304 Not Modified\nETag: x\n\n", 304, "Not Modified", 0, true, true},
		{"304, a body announced", "GET", "HTTP/1.1 304 Not Modified\nContent-Length: 5\n\n", 304, "Not Modified", 0, true, false},
		{"103", "GET", "HTTP/1.1 103 Early Hints\nLink: x\n\n", 103, "Early Hints", 0, true, true},
		{"101", "GET", "HTTP/1.1 101 Switching Protocols\nUpgrade: x\n\n", 101, "Switching Protocols", 0, true, false},
		{"HTTP/1.0", "GET", "HTTP/1.0 200 OK\nContent-Length: 5\n\n", 200, "OK", 5, false, false},
		{"HTTP/1.0 keep-alive", "GET", "HTTP/1.0 200 OK\nContent-Length: 5\nConnection: keep-alive\n\n", 200, "OK", 5, false, true},
		{"HTTP/1.0 until close", "GET", "HTTP/1.0 200 OK\nConnection: keep-alive\n\n", 200, "OK", UntilClose, false, false},
		{"no reason", "GET", "HTTP/1.1 200\nContent-Length: 0\n\n", 200, "", 0, false, true},
		{"empty reason", "GET", "HTTP/1.1 200 \nContent-Length: 0\n\n", 200, "", 0, false, true},
		{"a length as a list", "GET", "HTTP/1.1 200 OK\nContent-Length: 5, 5 ,5\n\n", 200, "OK", 5, false, true},
		{"no coding, by its old name", "GET", "HTTP/1.1 200 OK\nTransfer-Encoding: Identity\nContent-Length: 5\n\n", 200, "OK", 5, false, true},
		{"no coding and no length", "GET", "HTTP/1.1 200 OK\nTransfer-Encoding: identity\n\n", 200, "OK", UntilClose, false, false},
		{"no coding, and chunks", "GET", "HTTP/1.1 200 OK\nTransfer-Encoding: identity\nTransfer-Encoding: chunked\n\n", 200, "OK", -1, false, true},
		{"a later version", "GET", "HTTP/1.2 200 OK\nContent-Length: 5\n\n", 200, "OK", 5, false, true},
		{"the version of the caller", "GET", "HTTP/2.0 404 Not Found\nContent-Length: 5\n\n", 404, "Not Found", 5, false, true},
		{"a control character", "GET", "HTTP/1.1 200 OK\nX: \x1b[1m\x7f\nContent-Length: 5\n\n", 200, "OK", 5, false, true},
		{"long reason", "GET", "HTTP/1.1 299 all  is\twell\nContent-Length: 0\n\n", 299, "all  is\twell", 0, false, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var r Response
			if err := r.Parse(crlf(tc.head), tc.method, Limits{}); err != nil {
				t.Fatal(err)
			}
			if r.Status != tc.status || r.Reason != tc.reason || r.Length != tc.length || r.Bare != tc.bare || r.Keep != tc.keep {
				t.Errorf("got %d %q length %d bare %v keep %v", r.Status, r.Reason, r.Length, r.Bare, r.Keep)
			}
		})
	}
}

// Control characters in values become spaces, and other bytes stay.
func TestControlCharactersOfAnswers(t *testing.T) {
	var r Response
	if err := r.Parse(crlf("HTTP/1.1 200 OK\nX: \xfc\x1b[1mü\t.\n\n"), "GET", Limits{}); err != nil {
		t.Fatal(err)
	}
	if got, want := r.Fields[0].Value, "\xfc [1mü\t."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

var refusedAnswers = []struct{ name, head string }{
	{"empty", "\n\n"},
	{"HTTP/2", "HTTP/2 200 OK\n\n"},
	{"HTTP/0.9", "HTTP/0.9 200 OK\n\n"},
	{"short status", "HTTP/1.1 20\n\n"},
	{"long status", "HTTP/1.1 2000 OK\n\n"},
	{"status below 100", "HTTP/1.1 099 OK\n\n"},
	{"status with a sign", "HTTP/1.1 +20 OK\n\n"},
	{"two spaces", "HTTP/1.1  200 OK\n\n"},
	{"control in reason", "HTTP/1.1 200 O\x00K\n\n"},
	{"bare CR in reason", "HTTP/1.1 200 O\rK\n\n"},
	{"folded field", "HTTP/1.1 200 OK\nX: a\n b\n\n"},
	{"space in a name", "HTTP/1.1 200 OK\nContent Length: 5\n\n"},
	{"differing lengths, one before a space", "HTTP/1.1 200 OK\nContent-Length: 5\nContent-Length : 6\n\n"},
	{"no name before a space", "HTTP/1.1 200 OK\nX: y\n : 5\n\n"},
	{"bad name", "HTTP/1.1 200 OK\nX(: 5\n\n"},
	{"NUL in value", "HTTP/1.1 200 OK\nX: \x00\n\n"},
	{"lengths that differ in a list", "HTTP/1.1 200 OK\nContent-Length: 5, 6\n\n"},
	{"a list with an empty length", "HTTP/1.1 200 OK\nContent-Length: 5,\n\n"},
	{"chunked twice in a list", "HTTP/1.1 200 OK\nTransfer-Encoding: chunked, chunked\n\n"},
	{"HTTP/3.0", "HTTP/3.0 200 OK\n\n"},
	{"bare CR in a value", "HTTP/1.1 200 OK\nX: a\rb\n\n"},
	{"bad length", "HTTP/1.1 200 OK\nContent-Length: 5a\n\n"},
	{"differing lengths", "HTTP/1.1 200 OK\nContent-Length: 5\nContent-Length: 6\n\n"},
	{"length and chunked", "HTTP/1.1 200 OK\nContent-Length: 5\nTransfer-Encoding: chunked\n\n"},
	{"length and chunked for 304", "HTTP/1.1 304 OK\nContent-Length: 5\nTransfer-Encoding: chunked\n\n"},
	{"unknown coding", "HTTP/1.1 200 OK\nTransfer-Encoding: gzip, chunked\n\n"},
	{"length and chunked in HTTP/1.0", "HTTP/1.0 200 OK\nContent-Length: 5\nTransfer-Encoding: chunked\n\n"},
}

func TestResponseRefused(t *testing.T) {
	for _, tc := range refusedAnswers {
		t.Run(tc.name, func(t *testing.T) {
			var r Response
			err := r.Parse(crlf(tc.head), "GET", Limits{})
			if _, ok := errors.AsType[*Error](err); !ok {
				t.Errorf("Parse: %v, want an *Error", err)
			}
			if r.Keep {
				t.Error("a refused answer keeps its connection")
			}
		})
	}
}
