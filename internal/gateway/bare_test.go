package gateway

import (
	"net/http"
	"testing"
)

// TestABodyThatMayNotFollow: handlers of Python's http.server answer HEAD as GET, with the body, and some servers send one
// with 204. It may come when the next request is on its way. It must not be taken for the answer to that request.
func TestABodyThatMayNotFollow(t *testing.T) {
	for _, tc := range []struct {
		name, method, head, body string
		status                   int
	}{
		{"HEAD", "HEAD", "HTTP/1.1 200 OK\nContent-Length: 5\n\n", "HTTP/", 200},
		{"HEAD in chunks", "HEAD", "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n", "5\nhello\n0\n\n", 200},
		{"204", "GET", "HTTP/1.1 204 No Content\nContent-Length: 5\n\n", "hello", 204},
		{"204 in chunks", "GET", "HTTP/1.1 204 No Content\nTransfer-Encoding: chunked\n\n", "5\nhello\n0\n\n", 204},
		{"304", "GET", "HTTP/1.1 304 Not Modified\nContent-Length: 5\n\n", "hello", 304},
	} {
		w := startWorker(t, func(c *workerConn) {
			for {
				r, err := http.ReadRequest(c.br)
				if err != nil {
					return
				}
				if r.URL.Path == "/good" {
					c.send(hello)
					continue
				}
				c.send(tc.head)
				if _, err := c.br.Peek(1); err != nil { // the next request
					return
				}
				c.send(tc.body)
			}
		})
		f := serve(t, Route{Doer: newDirect(t, w.addr)}, Config{}, ServerConfig{})
		c := dial(t, f.addr)
		c.send(tc.method + " /odd HTTP/1.1\nHost: h\n\n")
		if resp, _ := c.answer(tc.method); resp.StatusCode != tc.status {
			t.Errorf("%s: status %d", tc.name, resp.StatusCode)
		}
		c.send("GET /good HTTP/1.1\nHost: h\n\n")
		if resp, body := c.answer("GET"); resp.StatusCode != 200 || body != "hello" {
			t.Errorf("%s: then status %d, %q", tc.name, resp.StatusCode, body)
		}
	}
}
