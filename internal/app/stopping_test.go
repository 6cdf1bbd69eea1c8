package app_test

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// While it finishes what is in flight, Bezoar accepts no more connections of
// callers, so that balancers must see at once that it is not ready.
func TestNotReadyWhileItStops(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}), make(chan struct{})
	w := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/wait" {
			close(arrived)
			<-release
		}
	}))
	defer w.Close()
	let := sync.OnceFunc(func() { close(release) })
	defer let()
	n := serve(t, `
listen: 127.0.0.1:0
admin: 127.0.0.1:0
store: "memory:"
fleets: {app: {workers: ["`+w.URL+`"]}}
routes: [{match: {path: /*}, fleet: app, retry: {attempts: 1}}]
`)
	status := func(path string) int {
		resp, err := n.http.Get("http://" + n.adminAt + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	eventually := func(path string, want int) {
		t.Helper()
		for end := time.Now().Add(time.Minute); status(path) != want; {
			if time.Now().After(end) {
				t.Fatalf("%s is not %d", path, want)
			}
		}
	}
	eventually("/readyz", http.StatusOK)
	answered := make(chan int)
	go func() {
		resp, err := n.http.Get(n.url + "/wait")
		if err != nil {
			answered <- 0
			return
		}
		_ = resp.Body.Close()
		answered <- resp.StatusCode
	}()
	<-arrived
	stopped := make(chan struct{})
	go func() { n.stop(); close(stopped) }()
	eventually("/readyz", http.StatusServiceUnavailable)
	if got := status("/livez"); got != http.StatusOK {
		t.Errorf("livez is %d while it stops", got)
	}
	let()
	if got := <-answered; got != http.StatusOK {
		t.Errorf("what was in flight is answered %d", got)
	}
	<-stopped
}
