package gateway

import (
	"net/http"
	"strings"
	"testing"
)

// TestPrefixAndHeadersOfARoute: curl asks for paths below a prefix, and Python's
// WSGI server gets them without, with other headers.
func TestPrefixAndHeadersOfARoute(t *testing.T) {
	addr := startWSGI(t)
	f := serve(t, Route{
		Path: "/app/*", StripPrefix: "/app", Doer: newDirect(t, addr),
		Request: Edit{Set: []Header{{"X-Env", "prod"}, {"User-Agent", "gateway"}}, Remove: []string{"Cookie", "X-Secret"}},
		Answer:  Edit{Set: []Header{{"Strict-Transport-Security", "max-age=600"}, {"Content-Type", "text/plain"}}, Remove: []string{"server"}},
	}, Config{}, ServerConfig{})
	url := "http://" + f.addr
	for path, want := range map[string]string{
		"/app/x": "/x", "/app/": "/", "/app/a/b%20c": "/a/b c", "/APP/x": "/x", "/app//evil.example/x": "/evil.example/x", "//app/x": "/x",
		"/app/x?q=/app/y": "/x", "/app/app/x": "/app/x",
	} {
		if env, said := curl(t, url+path); env["PATH_INFO"] != want || env["HTTP_X_FORWARDED_PREFIX"] != "/app" {
			t.Errorf("%s: the application got %q: %s", path, env["PATH_INFO"], said)
		}
	}
	env, _ := curl(t, "-H", "Cookie: a=b", "-H", "X_Secret: 1", "-H", "X-Env: forged", "-H", "X_Env: forged", "-H", "X-Forwarded-Prefix: /forged", url+"/app/x")
	if env["HTTP_X_ENV"] != "prod" || env["HTTP_USER_AGENT"] != "gateway" || env["HTTP_COOKIE"] != "" || env["HTTP_X_SECRET"] != "" || env["HTTP_X_FORWARDED_PREFIX"] != "/app" {
		t.Errorf("the application got %v", env)
	}
	resp, err := http.Get(url + "/app/x")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	h := resp.Header
	if h.Get("Strict-Transport-Security") != "max-age=600" || h.Get("Server") != "" || strings.Join(h.Values("Content-Type"), "|") != "text/plain" {
		t.Errorf("the caller got %v", h)
	}
}

func TestEditFaults(t *testing.T) {
	r := Route{
		Doer: doFunc(nil), Printer: newPrinter(t), StripPrefix: "/x/",
		Request: Edit{Set: []Header{{"Host", "a"}, {"X-A", "b\nc"}}, Remove: []string{"X_Forwarded_For"}}, Answer: Edit{Remove: []string{"a b", "Content-Length"}},
	}
	err := Config{Routes: []Route{r}}.Validate()
	for _, want := range []string{"StripPrefix", "Request has Host", "Request sets X-A", "Request has X_Forwarded_For", `Answer has "a b"`, "Answer has Content-Length"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
}
