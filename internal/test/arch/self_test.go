package arch

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
)

// TestEachRuleCanFail shows every rule a source that breaks it and one that
// nearly does.
func TestEachRuleCanFail(t *testing.T) {
	long := strings.Repeat("\n", askFile+1)
	body := strings.Repeat("\tprintln()\n", askFunc)
	for _, tt := range []struct {
		name, path, src string
		rule            func(*pkg, *reasons) []string
		want            string // part of the only complaint; "" for none
	}{
		{"unplaced", "helpers/a.go", "package helpers", checkHeights, "has no height"},
		{"placed", "queue/a.go", "package queue", checkHeights, ""},
		{"upward", "internal/dispatch/ledger/a.go", `package ledger; import _ "` + module + `/internal/gateway"`, checkHeights, "imports lead down only"},
		{"sideways", "policy/blame/a.go", `package blame; import _ "` + module + `/policy/lane"`, checkHeights, "imports lead down only"},
		{"store meets front", "internal/store/x/a.go", `package x; import _ "` + module + `/internal/gateway"`, checkHeights, "imports lead down only"},
		{"downward", "internal/gateway/a.go", `package gateway; import _ "` + module + `/internal/dispatch"`, checkHeights, ""},
		{"to the root", "policy/blame/a.go", `package blame; import _ "` + module + `"`, checkHeights, ""},
		{"by an edge", "internal/dispatch/a.go", `package dispatch; import _ "` + module + `/internal/dispatch/fleet"`, checkHeights, ""},
		{"test helper in a binary", "internal/gateway/a.go", `package gateway; import _ "` + module + `/internal/test/golden"`, checkHeights, "for tests only"},
		{"test helper in a test", "internal/gateway/a_test.go", `package gateway; import _ "` + module + `/internal/test/golden"`, checkHeights, ""},

		{"policy with a lock", "policy/blame/a.go", `package blame; import _ "sync/atomic"`, checkBans, "step function"},
		{"policy with a library", "policy/blame/a.go", `package blame; import _ "github.com/x/y"`, checkBans, "words and policies"},
		{"policy with time", "policy/blame/a.go", `package blame; import _ "time"`, checkBans, ""},
		{"front with SQL", "internal/gateway/a.go", `package gateway; import _ "database/sql"`, checkBans, "only stores know SQL"},
		{"store with SQL", "internal/store/sqlite/a.go", `package sqlite; import _ "database/sql"`, checkBans, ""},
		{"engine with HTTP", "internal/dispatch/ledger/a.go", `package ledger; import _ "net/http"`, checkBans, "must not know the wire"},
		{"testing in a binary", "internal/gateway/a.go", `package gateway; import _ "testing"`, checkBans, "tests stay out"},
		{"testing in a test", "internal/gateway/a_test.go", `package gateway; import _ "testing"`, checkBans, ""},

		{"policy reads a clock", "policy/lane/a.go", `package lane; import "time"; func f() { _ = time.Now() }`, checkPurity, "reads no clock"},
		{"policy reads a renamed clock", "policy/lane/a.go", `package lane; import tm "time"; func f() { _ = tm.Since }`, checkPurity, "reads no clock"},
		{"policy adds times", "policy/lane/a.go", `package lane; import "time"; func f(t time.Time) { _ = t.After(t); _ = t.Add(time.Second) }`, checkPurity, ""},
		{"policy starts a goroutine", "policy/lane/a.go", `package lane; func f() { go f() }`, checkPurity, "starts no goroutine"},
		{"policy has a channel", "policy/lane/a.go", `package lane; type c chan int`, checkPurity, "has no channel"},
		{"policy draws", "policy/lane/a.go", `package lane; import "math/rand/v2"; var x = rand.IntN(3)`, checkPurity, "no global source"},
		{"policy takes a source", "policy/lane/a.go", `package lane; import "math/rand/v2"; func f(r *rand.Rand) int { return r.IntN(3) }`, checkPurity, ""},
		{"engine reads a clock", "internal/dispatch/ledger/a.go", `package ledger; import "time"; func f() { _ = time.Now() }`, checkPurity, ""},

		{"long file", "queue/a.go", "package queue" + long, checkSizes, "which two things is it"},
		{"long function", "queue/a.go", "package queue\nfunc f() {\n" + body + "}\n", checkSizes, "a.go:f has"},
		{"long test function", "queue/a_test.go", "package queue\nfunc f() {\n" + body + "}\n", checkSizes, ""},

		{"undocumented", "queue/a.go", "package queue", checkDocs, "no package comment"},
		{"documented in its only file", "queue/a.go", "// Package queue is.\npackage queue", checkDocs, ""},
		{"misnamed", "queue/doc.go", "// This package is.\npackage queue", checkDocs, "does not begin"},
		{"documented", "queue/doc.go", "// Package queue is.\npackage queue", checkDocs, ""},
		{"command", "cmd/x/main.go", "// Command x is.\npackage main", checkDocs, ""},

		{"init", "queue/a.go", "package queue; func init() {}", checkInit, "behind the importer's back"},
		{"method init", "queue/a.go", "package queue; type t int; func (t) init() {}", checkInit, ""},
		{"sleeping test", "queue/a_test.go", `package queue; import "time"; func f() { time.Sleep(1) }`, checkInit, "not for time to pass"},
		{"sleeping in a bubble", "queue/a_test.go", `package queue; import ("time"; _ "testing/synctest"); func f() { time.Sleep(1) }`, checkInit, ""},

		{"cache", "queue/a.go", "package queue; var m = map[int]int{}; func f() { m[1] = 2 }", checkGlobals, "is written to"},
		{"counter", "queue/a.go", "package queue; var n int; func f() { n++ }", checkGlobals, "begins empty"},
		{"pool", "queue/a.go", "package queue; var p = &x{}; type x struct{}", checkGlobals, "shared state"},
		{"lent out", "queue/a.go", "package queue; var n = 1; func f() *int { return &n }", checkGlobals, "is written to"},
		{"result", "queue/a.go", "package queue; var n = f(); func f() int { return 1 }", checkGlobals, "what a call returned"},
		{"sentinel", "queue/a.go", `package queue; import "errors"; var ErrX = errors.New("x")`, checkGlobals, ""},
		{"table", "queue/a.go", "package queue; var t = [...]int{1}; func f() int { t := t; t[0] = 2; return t[0] }", checkGlobals, ""},
		{"embedded", "queue/a.go", "package queue; import \"embed\"\n//go:embed x\nvar fs embed.FS\n", checkGlobals, ""},
		{"assertion", "queue/a.go", "package queue; var _ error = (*x)(nil); type x struct{}", checkGlobals, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pkgs, err := load(fstest.MapFS{tt.path: {Data: []byte(tt.src)}})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range pkgs {
				got = append(got, tt.rule(p, newReasons())...)
			}
			if tt.want == "" && len(got) > 0 || tt.want != "" && (len(got) != 1 || !strings.Contains(got[0], tt.want)) {
				t.Errorf("got %s, want %q", fmt.Sprintf("%q", got), tt.want)
			}
		})
	}
}

func TestDocsAreLookedForInDocGo(t *testing.T) {
	pkgs, err := load(fstest.MapFS{
		"queue/a.go": {Data: []byte("// Package queue is.\npackage queue")},
		"queue/b.go": {Data: []byte("package queue")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := checkDocs(pkgs[0], newReasons()); len(got) != 1 || !strings.Contains(got[0], "belongs into doc.go") {
		t.Errorf("got %q", got)
	}
}

// TestWritesAreFoundAcrossFiles holds checkGlobals to the whole package.
func TestWritesAreFoundAcrossFiles(t *testing.T) {
	pkgs, err := load(fstest.MapFS{
		"queue/a.go": {Data: []byte("package queue; var table = map[int]int{1: 2}")},
		"queue/b.go": {Data: []byte("package queue; func f() { delete(table, 1) }")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := checkGlobals(pkgs[0], newReasons()); len(got) != 1 || !strings.Contains(got[0], "is written to") {
		t.Errorf("got %q", got)
	}
}

func TestLoadLeavesOthersAlone(t *testing.T) {
	src := &fstest.MapFile{Data: []byte("package x")}
	pkgs, err := load(fstest.MapFS{
		"queue/a.go": src, "tools/go.mod": {}, "tools/a.go": src, "queue/testdata/a.go": {Data: []byte("not Go")},
		".hidden/a.go": src, "_old/a.go": src, "bench/node_modules/a.go": src, "README.md": {},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(pkgs) != 1 || pkgs[0].dir != "queue" {
		t.Errorf("loaded %d packages", len(pkgs))
	}
	if _, err := load(fstest.MapFS{}); err == nil {
		t.Error("an empty tree passes")
	}
}
