package h1

import (
	"strings"
	"testing"
)

// A caller whose body is refused unread can send all of it before it looks at the
// answer, as Node's fetch does. Before, the connection was reset after 256 KiB.
func TestAnEarlyAnswerIsNotLost(t *testing.T) {
	addr, _ := serve(t, ServerConfig{}, func(x *Exchange) {
		x.Close()
		h := Head{Status: 413, Reason: "Content Too Large", Length: 7}
		if x.Begin(&h) == nil && x.Write([]byte("too big")) == nil {
			_ = x.End(nil)
		}
	})
	c := dial(t, addr)
	// In one piece: while a second one was made, the server would wait for a second and close.
	c.send("POST / HTTP/1.1\nHost: h\nContent-Length: 50000000\n\n" + strings.Repeat("x", 50_000_000))
	if resp, body := c.answer("POST"); resp.StatusCode != 413 || body != "too big" || !resp.Close {
		t.Errorf("status %d, close %v, %q", resp.StatusCode, resp.Close, body)
	}
	if rest := c.rest(); rest != "" {
		t.Errorf("%q behind the answer", rest)
	}
}

// Empty lines between two requests are passed over, also when their bytes come
// apart and when nothing follows; before the first there may be none, nor many.
func TestEmptyLinesBetweenRequests(t *testing.T) {
	addr, _ := serve(t, ServerConfig{}, echo)
	c := dial(t, addr)
	get := func(before string) {
		t.Helper()
		c.send(before + "GET /a HTTP/1.1\nHost: h\n\n")
		if resp, body := c.answer("GET"); resp.StatusCode != 200 || body != "GET /a " {
			t.Errorf("after %q: status %d, %q", before, resp.StatusCode, body)
		}
	}
	get("\n")
	get("")
	get("\n")
	get("\n\n")
	if _, err := c.Write([]byte("\r")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	get("")
	c.send("\n\n\n\nGET /a HTTP/1.1\nHost: h\n\n")
	if resp, _ := c.answer("GET"); resp.StatusCode != 400 || !resp.Close {
		t.Errorf("after many: status %d, close %v", resp.StatusCode, resp.Close)
	}
}
