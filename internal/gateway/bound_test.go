package gateway

import (
	"fmt"
	"testing"
)

// A worker that authenticates connections, as servers of Windows do, takes what follows on the
// connection for the same user's: no other caller gets that connection.
func TestNobodyGetsTheConnectionOfAnother(t *testing.T) {
	f, _, _ := through(t, func(c *workerConn) {
		user := "nobody"
		for {
			r, _ := c.request()
			if r == nil {
				return
			}
			head := "HTTP/1.1 200 OK\n"
			switch got := r.Header.Get("Authorization"); {
			case got != "":
				user = got
			case r.URL.Path == "/asks":
				user, head = "half "+r.Header.Get("X-Caller"), "HTTP/1.1 401 Unauthorized\nWWW-Authenticate: NTLM TlRMTVNTUAAC\n"
			}
			c.send(fmt.Sprintf("%sContent-Length: %d\n\n%s", head, len(user), user))
		}
	})
	for _, first := range []string{
		"GET / HTTP/1.1\nHost: h\nAuthorization: Negotiate YIIa\n\n",
		"GET / HTTP/1.1\nHost: h\nauthorization: ntlm TlRMTVNTUAAD\n\n",
		"GET /asks HTTP/1.1\nHost: h\nX-Caller: alice\n\n",
	} {
		alice := dial(t, f.addr)
		alice.send(first)
		alice.answer("GET")
		bob := dial(t, f.addr)
		bob.send("GET / HTTP/1.1\nHost: h\n\n")
		if _, user := bob.answer("GET"); user != "nobody" {
			t.Errorf("after %q the worker takes another caller for %q", first, user)
		}
	}
}

// Other credentials are of one request, so that its connection serves others.
func TestConnectionsAreSharedAfterOtherCredentials(t *testing.T) {
	f, _, w := through(t, answering(hello))
	for range 3 {
		c := dial(t, f.addr)
		c.send("GET / HTTP/1.1\nHost: h\nAuthorization: Bearer negotiate\n\n")
		c.answer("GET")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.opened != 1 {
		t.Errorf("%d connections to the worker", w.opened)
	}
}
