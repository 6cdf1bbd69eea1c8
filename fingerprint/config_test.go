package fingerprint_test

import (
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/fingerprint"
)

func TestConfig(t *testing.T) {
	for _, c := range []fingerprint.Config{
		{},
		{Headers: []string{"X-Tenant", "accept"}, MaxBody: fingerprint.MaxMaxBody},
		{Ignore: []string{"header:X-Request-Id", "query:ts", "form:a b", "json:$.ts", "json:$.items[*].id", `json:$["a.b"]['c"d'][*]`, "query:a:b"}},
	} {
		if err := c.Validate(); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestConfigFaults(t *testing.T) {
	c := fingerprint.Config{
		MaxBody: -1,
		Headers: []string{"", "X Tenant", "Content-Type", "X-A", "x-a", "Content-Length"},
		Ignore: []string{
			"ts", "query:", "cookie:a", "header:X-A", "header:content-encoding", "header:é",
			"json:ts", "json:$", "json:$ts", "json:$.", "json:$.a..b", "json:$.*", "json:$[0]", `json:$["a`, "json:$" + strings.Repeat(".a", 65),
		},
	}
	want := []string{
		"MaxBody: -1 is outside 0 to 16777216",
		"Headers[0]: the header's name is empty",
		`Headers[1]: "X Tenant" is not a header name`,
		"Headers[2]: Content-Type is always part of identity",
		"Headers[4]: x-a is named twice",
		"Headers[5]: Content-Length is never part of identity: the body is",
		`Ignore[0]: "ts" has no name, want header:NAME, query:NAME, form:NAME or json:$.PATH`,
		`Ignore[1]: "query:" has no name, want header:NAME, query:NAME, form:NAME or json:$.PATH`,
		`Ignore[2]: "cookie:a": kind "cookie" is unknown, want header, query, form or json`,
		`Ignore[3]: "header:X-A" is also chosen in Headers`,
		"Ignore[4]: content-encoding is always part of identity",
		`Ignore[5]: "é" is not a header name`,
		`Ignore[6]: "json:ts": a path begins with $`,
		`Ignore[7]: "json:$": $ alone is the whole document, name a part of it`,
		`Ignore[8]: "json:$ts": "ts": want .name, ["name"] or [*]`,
		`Ignore[9]: "json:$.": ".": want a name behind the dot`,
		`Ignore[10]: "json:$.a..b": "..b": want a name behind the dot`,
		`Ignore[11]: "json:$.*": ".*": want a name behind the dot`,
		`Ignore[12]: "json:$[0]": "[0]": want .name, ["name"] or [*]`,
		`Ignore[13]: "json:$[\"a": [" is not closed by "]`,
		`Ignore[14]: "json:$.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a": more than 64 steps`,
	}
	err := c.Validate()
	if err == nil {
		t.Fatal("no fault is found")
	}
	if got := strings.Split(err.Error(), "\n"); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if p, err := fingerprint.New(fingerprint.Key{}, c); p != nil || err == nil {
		t.Error("New accepts what Validate refuses")
	}
	many := fingerprint.Config{Headers: make([]string, 33), Ignore: make([]string, 65), MaxBody: 16<<20 + 1}
	for _, want := range []string{"Headers: 33 entries, at most 32", "Ignore: 65 entries, at most 64", "MaxBody: 16777217 is outside"} {
		if err := many.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing from %v", want, err)
		}
	}
}
