package gateway

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/dispatch"
)

func TestRoutes(t *testing.T) {
	table := newTable([]Route{
		{Name: "all"},
		{Name: "search", Path: "/search/*"},
		{Name: "deep", Path: "/search/deep/*"},
		{Name: "exact", Path: "/search/deep/x"},
		{Name: "exact again", Path: "/search/deep/*", Methods: []string{"PUT"}},
		{Name: "prefix", Path: "/pre*"},
		{Name: "posts", Path: "/only", Methods: []string{"POST", "PUT"}},
		{Name: "host", Path: "/search/*", Hosts: []string{"A.example"}},
		{Name: "pattern", Hosts: []string{"*.example"}},
		{Name: "root", Path: "/*", Hosts: []string{"r"}},
	})
	for _, tc := range []struct{ method, host, path, want string }{
		{"GET", "h", "/", "all"},
		{"OPTIONS", "h", "*", "all"},
		{"OPTIONS", "r", "*", "root"},
		{"GET", "h", "/search", "all"},
		{"GET", "h", "/search/", "search"},
		{"GET", "h", "/search/deep", "search"},
		{"GET", "h", "/search/deep/y", "deep"},
		{"PUT", "h", "/search/deep/y", "exact again"},
		{"PUT", "h", "/search/deep/x", "exact"},
		{"GET", "h", "/search/deep/x", "exact"},
		{"GET", "h", "/pre", "prefix"},
		{"GET", "h", "/prefix/x", "prefix"},
		{"POST", "h", "/only", "posts"},
		{"GET", "h", "/only", "all"},
		{"GET", "a.example", "/search/q", "host"},
		{"GET", "A.EXAMPLE:8080", "/search/q", "host"},
		{"GET", "a.example", "/", "pattern"},
		{"GET", "x.y.example:80", "/search/deep/x", "pattern"},
		{"GET", "example", "/search/q", "search"},
		{"GET", "[::1]:80", "/search/q", "search"},

		{"GET", "a.example.", "/search/q", "host"},
		{"GET", "a.example.:80", "/search/q", "host"},

		// What workers may take for the same path gets the same route.
		{"GET", "h", "/%73earch/q", "search"},
		{"GET", "h", "/x/../search/q", "search"},
		{"GET", "h", "/x/%2e%2E/search/./q", "search"},
		{"GET", "h", "/../../search/q", "search"},
		{"GET", "h", "/search/q/..", "search"},
		{"GET", "h", "/search/..", "all"},
		{"GET", "h", "/search/.hidden", "search"},
		{"GET", "h", "/search%2Fq", "search"},
		{"GET", "h", "/search%252fq", "search"},
		{"GET", "h", "/search%25252fq", "search"},
		{"GET", "h", "//search/q", "search"},
		{"GET", "h", "/search//q", "search"},
		{"GET", "h", "/%2Fsearch/q", "search"},
		{"GET", "h", `/search\q`, "search"},
		{"GET", "h", "/search%5Cq", "search"},
		{"GET", "h", "/search;v=1/q", "search"},
		{"GET", "h", "/;/search/q", "search"},
		{"GET", "h", "/SEARCH/q", "search"},
		{"GET", "h", "/Search/Deep/X", "exact"},
		{"GET", "h", "/search/deep/x/", "exact"},
		{"POST", "h", "/only/", "posts"},
		{"GET", "h", "/Only", "all"},
		{"GET", "h", "/x/..%2fsearch%2f%2e%2e%2fsearch/q", "search"},

		// No route has TRACE that does not name it.
		{"TRACE", "h", "/", ""},
		{"TRACK", "h", "/search/q", ""},
	} {
		r, _, status := table.choose(tc.method, tc.host, tc.path)
		if (r == nil) != (tc.want == "") || r != nil && r.Name != tc.want {
			t.Errorf("%s %s%s: route %v, status %d, want %q", tc.method, tc.host, tc.path, r, status, tc.want)
		}
	}
}

func TestNoRoute(t *testing.T) {
	w := startWorker(t, answering(hello))
	f := serve(t, Route{Doer: newDirect(t, w.addr), Path: "/a", Methods: []string{"PUT", "GET"}}, Config{}, ServerConfig{})
	c := dial(t, f.addr)
	for _, tc := range []struct {
		method, path string
		status       int
		allow        string
	}{
		{"GET", "/a", 200, ""},
		{"GET", "/b", 404, ""},
		{"POST", "/a", 405, "GET, PUT"},
	} {
		c.send(tc.method + " " + tc.path + " HTTP/1.1\nHost: h\n\n")
		resp, _ := c.answer(tc.method)
		if resp.StatusCode != tc.status || resp.Header.Get("Allow") != tc.allow {
			t.Errorf("%s %s: status %d, Allow %q", tc.method, tc.path, resp.StatusCode, resp.Header.Get("Allow"))
		}
	}
}

func TestConfigValidate(t *testing.T) {
	ok := Route{Doer: doFunc(nil), Printer: newPrinter(t)}
	bad := Route{
		Path: "x*y", Hosts: []string{"a:1"}, Methods: []string{"G ET"}, Replay: "sometimes", Buffer: -1, Client: "cookie:x",
	}
	_, err := New(Config{Routes: []Route{ok, bad, ok}, MaxBuffered: -1})
	for _, want := range []string{
		"MaxBuffered", "Routes[1].Path", "Routes[1].Hosts", "Routes[1].Methods", "Routes[1].Doer", "Routes[1].Printer",
		"Routes[1].Replay", "Routes[1].Buffer", "Routes[1].Client", "Routes[2].Name",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
	if err := (Config{}).Validate(); err == nil || !strings.Contains(err.Error(), "Routes") {
		t.Errorf("no routes: %v", err)
	}
	if err := (Config{Routes: []Route{ok}}).Validate(); err != nil {
		t.Error(err)
	}
	if err := (ServerConfig{Listen: "x", MaxHead: 1 << 20, IdleTimeout: -1}).Validate(); err == nil ||
		!strings.Contains(err.Error(), "Listen") || !strings.Contains(err.Error(), "MaxHead") || !strings.Contains(err.Error(), "IdleTimeout") {
		t.Errorf("server: %v", err)
	}
}

// TestWork checks what the dispatcher is told.
func TestWork(t *testing.T) {
	w := startWorker(t, answering(hello))
	d := newDirect(t, w.addr)
	p := newPrinter(t)
	f := serve(t, Route{Name: "r", Doer: d, Printer: p, Timeout: time.Minute, Off: true, Client: "header:X-Key", Buffer: 10}, Config{}, ServerConfig{})
	run := func(req string) dispatch.Work {
		c := dial(t, f.addr)
		c.send(req)
		if resp, _ := c.answer("POST"); resp.StatusCode != http.StatusOK {
			t.Fatalf("status %d", resp.StatusCode)
		}
		return d.work()
	}
	a := run("POST /a?x=1&y=2 HTTP/1.1\nHost: h\nX-Key: k1\nContent-Length: 4\n\nbody")
	b := run("POST /a?y=2&x=1 HTTP/1.1\nHost: h\nX-Key: k2\nTransfer-Encoding: chunked\n\n4\nbody\n0\n\n")
	other := run("POST /a?x=1&y=2 HTTP/1.1\nHost: h\nContent-Length: 4\n\nBODY")
	if a.Fingerprint != b.Fingerprint || a.Shape != b.Shape || a.Fingerprint.IsZero() || a.Shape.IsZero() {
		t.Error("the same work has two fingerprints")
	}
	if a.Fingerprint == other.Fingerprint {
		t.Error("other work has the same fingerprint")
	}
	if a.Client != p.Client("k1") || b.Client != p.Client("k2") || other.Client != p.Client("127.0.0.1") {
		t.Error("callers are not told apart")
	}
	if a.Route != "r" || a.Timeout != time.Minute || !a.Off {
		t.Errorf("work is %+v", a)
	}
	if s := run("POST / HTTP/1.1\nHost: h\nContent-Length: 20\n\n01234567890123456789"); s.Timeout != DefaultUploadTimeout {
		t.Errorf("a streamed body may take %v", s.Timeout)
	}
}
