package gateway

import (
	"net/http"
	"strings"
	"testing"
)

func TestRedirects(t *testing.T) {
	f := serveConfig(t, Config{Routes: []Route{
		{Name: "www", Hosts: []string{"www.example.org"}, Redirect: &Redirect{To: "https://example.org/", Status: 301}},
		{Path: "/old/*", Redirect: &Redirect{To: "http://{host}:81/new", Status: 307}},
		{Redirect: &Redirect{To: "https://{host}"}},
	}}, ServerConfig{})
	for _, tc := range []struct {
		method, host, target, want string
		status                     int
	}{
		{"GET", "example.org", "/a%2Fb?c=d", "https://example.org/a%2Fb?c=d", 308},
		{"POST", "example.org:80", "/", "https://example.org/", 308},
		{"HEAD", "example.org.", "//evil.example/", "https://example.org//evil.example/", 308},
		{"OPTIONS", "[::1]:80", "*", "https://[::1]/", 308},
		{"GET", "www.example.org", "/x", "https://example.org/x", 301},
		{"GET", "h", "/old/x", "http://h:81/new/old/x", 307},
	} {
		c := dial(t, f.addr)
		c.send(tc.method + " " + tc.target + " HTTP/1.1\nHost: " + tc.host + "\nConnection: close\nContent-Length: 0\n\n")
		resp, _ := c.answer(tc.method)
		if got := resp.Header.Get("Location"); resp.StatusCode != tc.status || got != tc.want {
			t.Errorf("%s %s%s: status %d, Location %s, want %d, %s", tc.method, tc.host, tc.target, resp.StatusCode, got, tc.status, tc.want)
		}
	}
	c := dial(t, f.addr)
	c.send("GET / HTTP/1.0\n\n")
	if resp, _ := c.answer("GET"); resp.StatusCode != http.StatusBadRequest {
		t.Errorf("without a host: status %d", resp.StatusCode)
	}
	for to, want := range map[string]string{
		"/x": "http:// or", "ftp://h": "http:// or", "https://": "http:// or", "https://h?q": "a query", "https://{host}.{host}": "http:// or", "https://h/{path}": "no placeholder",
		"https://u:p@h": "http:// or",
	} {
		err := Config{Routes: []Route{{Redirect: &Redirect{To: to, Status: 308}}}}.Validate()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", to, err)
		}
	}
	bad := Route{Doer: doFunc(nil), Printer: newPrinter(t), Redirect: &Redirect{To: "https://h", Status: 303}}
	if err := (Config{Routes: []Route{bad}}).Validate(); err == nil || !strings.Contains(err.Error(), "303") || !strings.Contains(err.Error(), "a Doer") {
		t.Errorf("both: %v", err)
	}
}
