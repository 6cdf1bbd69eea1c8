package admin

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestValidate(t *testing.T) {
	tests := []struct {
		cfg  Config
		want string // "" accepts
	}{
		{Config{Address: "127.0.0.1:7070"}, ""},
		{Config{Address: "[::1]:7070"}, ""},
		{Config{Address: "localhost:0"}, ""},
		{Config{Address: "127.8.9.1:1"}, ""},
		{Config{Address: "0.0.0.0:7070", Token: "0123456789abcdef"}, ""},
		{Config{Address: ":7070"}, "open to the network"},
		{Config{Address: "0.0.0.0:7070"}, "open to the network"},
		{Config{Address: "[::]:7070"}, "open to the network"},
		{Config{Address: "192.0.2.1:7070"}, "open to the network"},
		{Config{Address: "example.org:7070"}, "open to the network"},
		{Config{Address: "7070"}, "want host:port"},
		{Config{Address: "127.0.0.1:7070", Token: "short"}, "at least 16"},
		{Config{Address: "127.0.0.1:7070", Token: "0123456789 abcdef"}, "without spaces"},
	}
	for _, tt := range tests {
		err := tt.cfg.Validate()
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%v: %v, want %q", tt.cfg, err, tt.want)
		}
		if tt.cfg.Token != "" && strings.Contains(tt.cfg.String(), tt.cfg.Token) {
			t.Errorf("%v shows its token", tt.cfg)
		}
	}
}

func TestWhoMayEnter(t *testing.T) {
	const token = "correct-horse-battery"
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	extra := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	open := Config{Address: "127.0.0.1:7070", Page: page, Extra: extra}
	locked := Config{Address: "0.0.0.0:7070", Token: token, Page: page, Extra: extra}
	tests := []struct {
		name   string
		cfg    Config
		method string
		url    string
		header map[string]string
		status int
	}{
		{"loopback", open, "GET", "http://127.0.0.1:7070/api/v1/fleets", nil, 200},
		{"localhost", open, "GET", "http://localhost:7070/api/v1/fleets", nil, 200},
		{"IPv6", open, "GET", "http://[::1]:7070/api/v1/fleets", nil, 200},
		{"rebound name", open, "GET", "http://evil.example:7070/api/v1/fleets", nil, 403},
		{"rebound name, page", open, "GET", "http://evil.example:7070/", nil, 403},
		{"name that begins well", open, "GET", "http://127.0.0.1.evil.example/api/v1/fleets", nil, 403},
		{"same origin", open, "DELETE", "http://localhost:7070/api/v1/quarantine/q-000000000001", map[string]string{"Sec-Fetch-Site": "same-origin"}, 204},
		{"forged", open, "DELETE", "http://localhost:7070/api/v1/quarantine/q-000000000001", map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
		{"forged from a neighbour port", open, "DELETE", "http://localhost:7070/api/v1/quarantine/q-000000000001", map[string]string{"Sec-Fetch-Site": "same-site"}, 403},
		{"forged, old browser", open, "POST", "http://localhost:7070/api/v1/demo/pill", map[string]string{"Origin": "http://evil.example"}, 403},
		{"extra", open, "POST", "http://localhost:7070/api/v1/demo/pill", nil, 200},
		{"no token", locked, "GET", "http://box.example/api/v1/fleets", nil, 401},
		{"wrong token", locked, "GET", "http://box.example/api/v1/fleets", map[string]string{"Authorization": "Bearer " + token + "x"}, 401},
		{"wrong scheme", locked, "GET", "http://box.example/api/v1/fleets", map[string]string{"Authorization": "Basic " + token}, 401},
		{"token", locked, "GET", "http://box.example/api/v1/fleets", map[string]string{"Authorization": "bearer " + token}, 200},
		{"token for metrics", locked, "GET", "http://box.example/metrics", nil, 401},
		{"token for extra", locked, "GET", "http://box.example/api/v1/demo/state", nil, 401},
		{"token for events", locked, "GET", "http://box.example/api/v1/events", nil, 401},
		{"health is open", locked, "GET", "http://box.example/livez", nil, 200},
		{"page is open", locked, "GET", "http://box.example/", nil, 200},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := New(tt.cfg, newBackendStub(), new(Hub))
			if err != nil {
				t.Fatal(err)
			}
			r := httptest.NewRequest(tt.method, tt.url, nil)
			for k, v := range tt.header {
				r.Header.Set(k, v)
			}
			w := httptest.NewRecorder()
			s.Handler().ServeHTTP(w, r)
			if w.Code != tt.status {
				t.Errorf("= %d %s, want %d", w.Code, w.Body, tt.status)
			}
		})
	}
}
