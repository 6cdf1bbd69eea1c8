package gateway

import (
	"net/http"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/gateway/urlpath"
)

// readingTable has a narrow route beside one for everything.
func readingTable(narrow, rest PathMode) table {
	return newTable([]Route{
		{Name: "rest", Paths: rest},
		{Name: "narrow", Path: "/api/*", Paths: narrow},
		{Name: "login", Path: "/login", Paths: narrow},
	})
}

func TestPathsThatServersReadDifferently(t *testing.T) {
	const asIs = ""
	for _, tc := range []struct {
		path, route, forward string // normalised
		refused              bool   // by strict
		raw                  string // the route of raw
	}{
		{"/api/x", "narrow", asIs, false, "narrow"},
		{"/api%2Fx", "narrow", "/api/x", true, "rest"},
		{"/api%252Fx", "narrow", "/api/x", true, "rest"},
		{"//api/x", "narrow", "/api/x", true, "rest"},
		{"/%61pi/a%2Fb", "narrow", "/api/a/b", true, "narrow"},
		{"/api\\x%20y%3F", "narrow", "/api/x%20y%3F", true, "rest"},
		{"/api;jsessionid=1/x", "narrow", "/api/x", true, "rest"},
		{"/API/Mixed", "narrow", asIs, true, "rest"}, // capitals are not rewritten: a server may redirect to them
		{"/login/", "login", asIs, true, "rest"},     // nor are slashes
		{"/x/../api/y", "narrow", "/api/y", true, "narrow"},
		{"/api/../x", "rest", "/x", true, "rest"},
		{"/api%2f%252e%252e/x", "rest", "/x", true, "rest"},

		// What leads to one route anyhow stays as it is.
		{"/api/a%2Fb//c", "narrow", asIs, false, "narrow"},
		{"/files/a%2Fb//c;v=1%25", "rest", asIs, false, "rest"},
		{"/files/100%25%20", "rest", asIs, false, "rest"},
	} {
		want := tc.forward
		if want == asIs {
			want = tc.path
		}
		r, forward, status := readingTable("", "").choose("GET", "h", tc.path)
		if r == nil || r.Name != tc.route || forward != want {
			t.Errorf("%s: route %v, path %s, status %d, want %s and %s", tc.path, r, forward, status, tc.route, want)
		}
		for _, mode := range [][2]PathMode{{PathsStrict, PathsNormalise}, {PathsNormalise, PathsStrict}} {
			r, forward, status := readingTable(mode[0], mode[1]).choose("GET", "h", tc.path)
			if tc.refused != (r == nil && status == http.StatusBadRequest) || forward != tc.path {
				t.Errorf("strict, %s: route %v, path %s, status %d", tc.path, r, forward, status)
			}
		}
		r, forward, status = readingTable(PathsRaw, PathsRaw).choose("GET", "h", tc.path)
		if r == nil || r.Name != tc.raw || forward != tc.path {
			t.Errorf("raw, %s: route %v, path %s, status %d, want %s", tc.path, r, forward, status, tc.raw)
		}
	}
	if r, _, status := readingTable("", "").choose("GET", "h", "/api%2f%25252525"); r != nil || status != http.StatusBadRequest {
		t.Errorf("encoded too often: route %v, status %d", r, status)
	}
	// With too many readings to try, the normal form counts.
	crowded := "/" + strings.Repeat(`a//..\%25252f;`, 1000)
	if r, forward, _ := readingTable("", "").choose("GET", "h", crowded); r == nil || forward == crowded {
		t.Errorf("many readings: route %v, path %.40s", r, forward)
	}
	if _, _, status := readingTable(PathsStrict, PathsStrict).choose("GET", "h", crowded); status != http.StatusBadRequest {
		t.Errorf("strict, many readings: status %d", status)
	}
	long := "/api/" + strings.Repeat("%C3%A9//", 1000)
	if r, forward, _ := readingTable("", "").choose("GET", "h", long); r == nil || forward != long {
		t.Errorf("long: route %v, path %.40s", r, forward)
	}
	only := newTable([]Route{{Name: "raw", Path: "/api/*", Paths: PathsRaw}})
	for _, path := range []string{"//api/x", "/API/x", "/x%2f..%2fapi/x"} {
		if r, _, status := only.choose("GET", "h", path); r != nil || status != http.StatusNotFound {
			t.Errorf("one raw route, %s: route %v, status %d", path, r, status)
		}
	}
	one := newTable([]Route{{Name: "api", Path: "/api/*"}})
	if r, forward, status := one.choose("GET", "h", "/api/..%2fsecret"); r != nil || status != http.StatusNotFound {
		t.Errorf("out of the only route: route %v, path %s, status %d", r, forward, status)
	}
}

// FuzzChoose: whatever comes, all readings of what the worker gets lead to the
// route that was taken.
func FuzzChoose(f *testing.F) {
	for _, s := range []string{"/", "//api/x", "/api%2f..%2f/x", "/api/%252e%252e/x", `/a\..\api/x`, "/;/api;/x", "/%25%32%66", "/LOGIN/", "*", "/%"} {
		f.Add(s)
	}
	table := readingTable("", "")
	f.Fuzz(func(t *testing.T, path string) {
		if !strings.HasPrefix(path, "/") {
			return
		}
		r, forward, _ := table.choose("GET", "h", path)
		if r == nil {
			return
		}
		all, _ := urlpath.Readings(forward)
		for _, p := range all {
			if _, other, _ := table.match("GET", "h", p); other != r {
				t.Fatalf("%q goes to %s as %q, which can be read as %q", path, r.Name, forward, p)
			}
		}
	})
}

func BenchmarkChoose(b *testing.B) {
	for name, path := range map[string]string{
		"plain": "/api/users/123", "escape": "/api/caf%C3%A9", "worst": "/" + strings.Repeat(`a//..\%25252f;`, 1100),
	} {
		b.Run(name, func(b *testing.B) {
			table := readingTable("", "")
			b.ReportAllocs()
			for b.Loop() {
				table.choose("GET", "h", path)
			}
		})
	}
}
