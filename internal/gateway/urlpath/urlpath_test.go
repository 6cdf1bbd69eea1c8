package urlpath

import (
	"strings"
	"testing"
)

func FuzzResolve(f *testing.F) {
	for _, s := range []string{"/", "/a/../b", "/%2e/%41%2F", "/a/.", "/..", "*", "/%", "/a//..//b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		if !strings.HasPrefix(path, "/") {
			return
		}
		got := Resolve(path)
		if !strings.HasPrefix(got, "/") {
			t.Fatalf("resolve(%q) = %q", path, got)
		}
		for s := range strings.SplitSeq(got, "/") {
			if s == "." || s == ".." {
				t.Fatalf("resolve(%q) = %q", path, got)
			}
		}
	})
}
