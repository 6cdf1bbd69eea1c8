package app_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// Weights hold from a reload on. A worker of 0 gets no requests, sticky ones included,
// and its health is asked for nevertheless; with another weight it is back at once.
func TestWeightsAreReloaded(t *testing.T) {
	t.Parallel()
	var urls []string
	var served, looks [2]atomic.Int64
	for i := range 2 {
		s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/healthz" {
				looks[i].Add(1)
				return
			}
			served[i].Add(1)
		}))
		t.Cleanup(s.Close)
		urls = append(urls, s.URL)
	}
	settings := func(weight string) string {
		return fmt.Sprintf(`
listen: 127.0.0.1:0
admin: 127.0.0.1:0
store: 'memory:'
fleets: {app: {workers: [%s], health: {path: /healthz, interval: 100ms}, balance: {weights: {%q: %s}}}}
routes: [{match: {path: /sticky/*}, fleet: app, sticky: "header:X-User"}, {match: {path: /*}, fleet: app}]
`, strings.Join(urls, ", "), urls[0], weight)
	}
	r := follow(t, settings("9"))
	r.serving("app", 2)
	ask := func(path string, count int) (first, second int64) {
		t.Helper()
		was := [2]int64{served[0].Load(), served[1].Load()}
		for i := range count {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.url+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("X-User", fmt.Sprint(i))
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				t.Fatalf("%s: status %d", path, resp.StatusCode)
			}
		}
		return served[0].Load() - was[0], served[1].Load() - was[1]
	}
	if a, b := ask("/", 200); a < 3*b || b == 0 {
		t.Errorf("by 9 to 1: %d and %d", a, b)
	}
	if a, b := ask("/sticky/", 40); a == 0 || b == 0 {
		t.Errorf("sticky: %d and %d", a, b)
	}
	r.reload(settings("0"))
	for _, path := range []string{"/", "/sticky/"} {
		if a, b := ask(path, 40); a != 0 || b != 40 {
			t.Errorf("%s by 0 to 1: %d and %d", path, a, b)
		}
	}
	was := looks[0].Load()
	r.until("the worker of weight 0 is asked how it is", func() bool { return looks[0].Load() > was })
	if r.workers("app", "draining") != 1 || r.workers("app", "ready") != 1 {
		t.Error("the worker of weight 0 is not shown as draining")
	}
	r.reload(settings("1"))
	if a, b := ask("/", 200); a < 50 || b < 50 {
		t.Errorf("by 1 to 1: %d and %d", a, b)
	}
}
