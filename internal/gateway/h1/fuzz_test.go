package h1

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httputil"
	"strings"
	"testing"
)

// readHead reads a head from data in steps, as a server or client does, and
// returns it with how much of data it takes.
func readHead(data string, step int) (string, error) {
	s := sockOver(data, step)
	n, err := s.head(Limits{}.orDefaults())
	if err != nil {
		return "", err
	}
	return string(s.buffered()[:n]), nil
}

// sameHead checks that the steps in which a head arrives change nothing.
func sameHead(t *testing.T, data, head string, err error) {
	for _, step := range []int{1, 5} {
		h, e := readHead(data, step)
		if h != head || (e == nil) != (err == nil) {
			t.Fatalf("in steps of %d: %q, %v; at once: %q, %v", step, h, e, head, err)
		}
	}
}

// sameFields checks that net/http understood the same fields. It takes some out.
func sameFields(t *testing.T, fields []Field, h http.Header) {
	want := make(http.Header)
	for _, f := range fields {
		switch f.Key {
		case Host, TransferEncoding, Trailer, ContentLength:
			continue
		}
		want.Add(f.Name, f.Value)
	}
	for name, values := range want {
		if got := h.Values(name); strings.Join(got, "\x00") != strings.Join(values, "\x00") {
			t.Fatalf("field %q is %q, net/http reads %q", name, values, got)
		}
	}
}

// FuzzRequest checks that what is accepted is accepted and understood in the same
// way by net/http, which is the laxer parser.
func FuzzRequest(f *testing.F) {
	for _, tc := range refused {
		f.Add(crlf(tc.head))
	}
	f.Add(crlf("POST /a%20b?c=d HTTP/1.1\nHost: [::1]:80\nContent-Length: 3\nTE: trailers\n\nabc"))
	f.Add(crlf("POST http://a/b HTTP/1.1\nHost: c\nTransfer-Encoding: chunked\nTrailer: X\n\n0\n\n"))
	f.Add(crlf("OPTIONS * HTTP/1.0\nConnection: keep-alive\n\n"))
	f.Fuzz(func(t *testing.T, data string) {
		head, err := readHead(data, 0)
		sameHead(t, data, head, err)
		if err != nil {
			return
		}
		var r Request
		if err := r.Parse(head, Limits{}); err != nil {
			var e *Error
			if !errors.As(err, &e) || http.StatusText(e.Status) == "" {
				t.Fatalf("refused with %v", err)
			}
			return
		}
		std, err := http.ReadRequest(bufio.NewReader(strings.NewReader(head)))
		if err != nil {
			t.Fatalf("accepted, but net/http says: %v", err)
		}
		host := std.Host
		if r.Target == "*" && host == "" {
			host = r.Host // net/http forgets it
		}
		if std.Method != r.Method || host != r.Host || std.ContentLength != r.Length {
			t.Fatalf("net/http reads %s %s length %d, we %s %s length %d",
				std.Method, std.Host, std.ContentLength, r.Method, r.Host, r.Length)
		}
		if std.ProtoMinor != r.Minor || std.Close && !r.Close {
			t.Fatalf("net/http reads minor %d close %v, we %d %v", std.ProtoMinor, std.Close, r.Minor, r.Close)
		}
		sameFields(t, r.Fields, std.Header)
	})
}

// FuzzResponse does the same for answers.
func FuzzResponse(f *testing.F) {
	for _, tc := range refusedAnswers {
		f.Add(crlf(tc.head), false)
	}
	f.Add(crlf("HTTP/1.1 200 OK\nContent-Length: 5\n\n"), true)
	f.Add(crlf("HTTP/1.0 404 Not Found\nConnection: close\n\n"), false)
	f.Add(crlf("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\nTrailer: X\n\n"), false)
	f.Fuzz(func(t *testing.T, data string, isHead bool) {
		head, err := readHead(data, 0)
		sameHead(t, data, head, err)
		if err != nil {
			return
		}
		method := "GET"
		if isHead {
			method = "HEAD"
		}
		var r Response
		if r.Parse(head, method, Limits{}) != nil {
			return
		}
		std, err := http.ReadResponse(bufio.NewReader(strings.NewReader(head)), &http.Request{Method: method})
		if err != nil {
			t.Fatalf("accepted, but net/http says: %v", err)
		}
		if std.StatusCode != r.Status || std.ProtoMinor != r.Minor {
			t.Fatalf("net/http reads %d, we %d", std.StatusCode, r.Status)
		}
		want := std.ContentLength // -1 for both chunked and until close
		if !r.Bare && max(r.Length, -1) != want {
			t.Fatalf("net/http reads length %d, we %d", want, r.Length)
		}
		if std.Close && r.Keep && !r.Bare {
			t.Fatal("net/http closes, we keep")
		}
		sameFields(t, r.Fields, std.Header)
	})
}

// FuzzChunks checks the chunk decoder against net/http's, and that the steps in
// which a body arrives change nothing.
func FuzzChunks(f *testing.F) {
	for _, s := range []string{
		"5\nhello\n0\n\n", "5;x=y\nhello\n0\nX: y\n\nrest", "0\n\n", "5\nhello6\n world\n0\n\n", "fffffffffffffff\n",
		"10000000000000000\nx\n0\n\n", "5 \nhello\n0\n\n", "5\nhello\n0\n\n5\nhello\n",
	} {
		f.Add(crlf(s))
	}
	f.Fuzz(func(t *testing.T, data string) {
		var b Body
		s := sockOver(data, 0)
		b.reset(s, -1, Limits{}.orDefaults())
		got, err := readAll(&b)
		var e *Error
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.As(err, &e) {
			t.Fatalf("error %v", err)
		}
		for _, step := range []int{1, 3} {
			var b Body
			b.reset(sockOver(data, step), -1, Limits{}.orDefaults())
			if g, e := readAll(&b); g != got || (e == nil) != (err == nil) {
				t.Fatalf("in steps of %d: %q, %v; at once: %q, %v", step, g, e, got, err)
			}
		}
		if err != nil {
			return
		}
		std, err := io.ReadAll(httputil.NewChunkedReader(strings.NewReader(data)))
		if err != nil || !bytes.Equal(std, []byte(got)) {
			t.Fatalf("we read %q, net/http %q, %v", got, std, err)
		}
	})
}
