package gateway

import (
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/dispatch"
)

// TestHalfClose: a caller that shuts its side down behind its request, as nc -N does,
// gets its answer where the route says so. One that resets the connection does not.
func TestHalfClose(t *testing.T) {
	for _, keep := range []bool{true, false} {
		came, answer := make(chan bool, 1), make(chan bool)
		d := newDirect(t, startWorker(t, func(c *workerConn) {
			if _, err := http.ReadRequest(c.br); err != nil {
				return
			}
			came <- true
			<-answer
			c.send(hello)
		}).addr)
		f := serve(t, Route{Doer: d, HalfClose: keep}, Config{}, ServerConfig{})
		c := dial(t, f.addr)
		c.send("GET / HTTP/1.1\nHost: h\n\n")
		<-came
		if err := c.Conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if keep {
			select {
			case r := <-d.done:
				t.Errorf("ended with %+v", r)
			case <-time.After(3 * firstLook): // it has been looked at
			}
			close(answer)
			if resp, body := c.answer("GET"); resp.StatusCode != 200 || body != "hello" {
				t.Errorf("status %d, %q", resp.StatusCode, body)
			}
			if r := d.result(); r.Fault != dispatch.NoFault {
				t.Errorf("fault %d, %v", r.Fault, r.Err)
			}
			continue
		}
		if r := d.result(); r.Fault != dispatch.CallerGone {
			t.Errorf("fault %d, %v", r.Fault, r.Err)
		}
		close(answer)
	}
}
