package plain

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fragile starts n workers that drop the connection on /pill and count what
// they see, behind a balancer.
func fragile(t *testing.T, n int) (url string, seen *atomic.Int64, b *Balancer) {
	t.Helper()
	seen = new(atomic.Int64)
	b = NewBalancer()
	for i := range n {
		w := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			seen.Add(1)
			body, _ := io.ReadAll(r.Body)
			if r.URL.Path == "/pill" {
				panic(http.ErrAbortHandler)
			}
			_, _ = io.WriteString(rw, r.Method+" "+r.URL.RequestURI()+" "+string(body))
		}))
		t.Cleanup(w.Close)
		b.Up(string(rune('a'+i)), w.Listener.Addr().String())
	}
	front := httptest.NewServer(b)
	t.Cleanup(front.Close)
	t.Cleanup(b.Close)
	return front.URL, seen, b
}

func send(t *testing.T, method, url, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(got)
}

// What the demonstration compares with: one pill visits every worker once,
// also on connections that are warm.
func TestAPillVisitsEveryWorkerOnce(t *testing.T) {
	for _, method := range []string{"GET", "POST"} {
		url, seen, _ := fragile(t, 5)
		for range 20 { // warm the connections
			if status, _ := send(t, "GET", url+"/", ""); status != 200 {
				t.Fatalf("a good request was answered %d", status)
			}
		}
		seen.Store(0)
		if status, _ := send(t, method, url+"/pill", "x"); status != http.StatusBadGateway {
			t.Errorf("%s pill = %d, want 502", method, status)
		}
		if n := seen.Load(); n != 5 {
			t.Errorf("the %s pill was delivered %d times, want to each of 5 workers once", method, n)
		}
	}
}

func TestBalancerPassesThrough(t *testing.T) {
	url, _, b := fragile(t, 2)
	if status, body := send(t, "POST", url+"/orders?a=b%20c", "hello"); status != 200 || body != "POST /orders?a=b%20c hello" {
		t.Errorf("= %d %q", status, body)
	}
	b.Down("a")
	b.Down("b")
	if status, _ := send(t, "GET", url+"/", ""); status != http.StatusBadGateway {
		t.Errorf("without workers = %d, want 502", status)
	}
	b.Down("nobody")
	b.Up("a", "127.0.0.1:1") // the port is closed: on to the next
	b.mu.Lock()
	addr := b.workers[1].addr
	b.mu.Unlock()
	b.Up("b", addr)
	for range 3 {
		if status, _ := send(t, "GET", url+"/", ""); status != 200 {
			t.Errorf("with one worker alive = %d, want 200", status)
		}
	}
}

func TestWatch(t *testing.T) {
	var healthy atomic.Bool
	healthy.Store(true)
	var asked atomic.Int64
	w := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) == 2 {
			healthy.Store(false)
		}
		if !healthy.Load() {
			rw.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer w.Close()
	if !watch(t.Context(), w.URL, 1) {
		t.Error("a worker that fails every check was not found out")
	}
	if n := asked.Load(); n != 1+checkStrikes {
		t.Errorf("it was asked %d times, want once in health and %d times after", n, checkStrikes)
	}
}
