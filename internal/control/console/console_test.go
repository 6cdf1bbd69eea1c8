package console

import (
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

func get(t *testing.T, h *Handler, method, path string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestFiles(t *testing.T) {
	h, err := New()
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct{ path, kind string }{
		{"/", "text/html; charset=utf-8"},
		{"/main.js", "text/javascript; charset=utf-8"},
		{"/console.css", "text/css; charset=utf-8"},
		{"/stone.svg", "image/svg+xml"},
	}
	for _, tt := range tests {
		w := get(t, h, "GET", tt.path)
		if w.Code != 200 || w.Header().Get("Content-Type") != tt.kind || w.Body.Len() == 0 {
			t.Errorf("GET %s = %d %s", tt.path, w.Code, w.Header().Get("Content-Type"))
		}
		if again := get(t, h, "GET", tt.path, "If-None-Match", w.Header().Get("ETag")); again.Code != 304 || again.Body.Len() != 0 {
			t.Errorf("GET %s again = %d with %d bytes", tt.path, again.Code, again.Body.Len())
		}
		if head := get(t, h, "HEAD", tt.path); head.Code != 200 || head.Body.Len() != 0 {
			t.Errorf("HEAD %s = %d with %d bytes", tt.path, head.Code, head.Body.Len())
		}
	}
	if w := get(t, h, "GET", "/search"); w.Code != 404 || !strings.Contains(w.Body.String(), "Callers are served at another address") {
		t.Errorf("a request of a caller gets %d %q", w.Code, w.Body)
	}
	if w := get(t, h, "GET", "/../console.go"); w.Code != 404 {
		t.Errorf("a file that is not there = %d", w.Code)
	}
	if w := get(t, h, "POST", "/"); w.Code != 405 {
		t.Errorf("POST / = %d", w.Code)
	}
}

// Attackers write what the page shows: nothing in it may make markup of text,
// and nothing may need a weaker content security policy.
func TestNothingMakesMarkup(t *testing.T) {
	h, err := New()
	if err != nil {
		t.Fatal(err)
	}
	js := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc|DOMParser|javascript:`)
	inline := regexp.MustCompile(`(?i)<script(?:\s+[^>]*)?>[^<]|<style|\sstyle=|\son[a-z]+=|https?://[^w]`)
	used := regexp.MustCompile(`(?:from |src=|href=)"\.?/?([\w.-]+)"`)
	for path, f := range h.files {
		text := string(f.content)
		if m := js.FindString(text); m != "" {
			t.Errorf("%s uses %s", path, m)
		}
		if strings.HasPrefix(f.kind, "text/html") {
			if m := inline.FindString(text); m != "" {
				t.Errorf("%s has %q inline or from elsewhere", path, m)
			}
		}
		for _, m := range used.FindAllStringSubmatch(text, -1) {
			if _, ok := h.files["/"+m[1]]; !ok {
				t.Errorf("%s needs %s, which is not there", path, m[1])
			}
		}
	}
}
