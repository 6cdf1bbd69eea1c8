package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	tests := []struct {
		args string
		want order
		ok   bool
	}{
		{"1 ./...", order{seed: "1", packages: []string{"./..."}}, true},
		{"on -race -timeout=9m ./a ./b", order{"on", []string{"-race", "-timeout=9m"}, []string{"./a", "./b"}, nil}, true},
		{"1 ./... -- bench clients", order{seed: "1", packages: []string{"./..."}, folders: []string{"bench", "clients"}}, true},
		{"", order{}, false},
		{"1", order{seed: "1"}, false},
		{"-race ./...", order{}, false},
		{"1 -- bench", order{}, false},
	}
	for _, tt := range tests {
		got, err := parse(strings.Fields(tt.args))
		if ok := err == nil; ok != tt.ok {
			t.Errorf("%q: error %v, want one: %v", tt.args, err, !tt.ok)
		} else if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(order{})); ok && diff != "" {
			t.Errorf("%q: %s", tt.args, diff)
		}
	}
}

func TestRunsAtOnce(t *testing.T) {
	tests := []struct {
		name, program, text string
		want                bool
	}{
		{"steps", "steps", "func add(a, b int) int { return a + b }", false},
		{"goroutine", "at", "func f() { go f() }", true},
		{"lock", "at", "import \"sync\"\n\nvar _ sync.Mutex", true},
		{"atomic", "at", "import a \"sync/atomic\"\n\nvar _ a.Bool", true},
		{"handler", "at", "import \"net/http\"\n\nvar _ http.Handler", true},
		{"timer", "at", "import \"time\"\n\nvar _ = time.AfterFunc(1, nil)", true},
		{"word", "at", "// go f() is only said here, as are sync.Mutex and AfterFunc", false},
		{"program", "main", "func main() { go main() }", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "a.go"), "package "+tt.program+"\n")
			write(t, filepath.Join(dir, "b.go"), "package "+tt.program+"\n\n"+tt.text+"\n")
			got, err := runsAtOnce(listed{Dir: dir, Name: tt.program, GoFiles: []string{"a.go", "b.go"}})
			if err != nil || got != tt.want {
				t.Errorf("runs at once: %v, %v, want %v", got, err, tt.want)
			}
		})
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestRacedNamesWhatItLeaves(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "step.go"), "package step\n")
	write(t, filepath.Join(dir, "lock.go"), "package lock\n\nimport \"sync\"\n\nvar _ sync.Mutex\n")
	all := []listed{
		{ImportPath: "m/step", Dir: dir, Name: "step", GoFiles: []string{"step.go"}},
		{ImportPath: "m/step.test", Deps: []string{rapid}},
		{ImportPath: "m/lock", Dir: dir, Name: "lock", GoFiles: []string{"lock.go"}},
		{ImportPath: "m/lock.test"},
	}
	var out bytes.Buffer
	some, err := raced(all, &out)
	if err != nil {
		t.Fatal(err)
	}
	draws, others := divide(some)
	if len(draws) > 0 || !slices.Equal(others, []string{"m/lock"}) || !strings.Contains(out.String(), "  m/step\n") || strings.Contains(out.String(), "m/lock") {
		t.Errorf("left are %v and %v, and it says %q", draws, others, out.String())
	}
}

func TestTheLongestComeFirst(t *testing.T) {
	all := []listed{{ImportPath: "m/a"}, {ImportPath: "m/worker"}, {ImportPath: "m/examples/worker-of-others"}, {ImportPath: "m/internal/app"}, {ImportPath: "m/z"}}
	_, others := divide(all)
	if want := []string{"m/internal/app", "m/worker", "m/a", "m/examples/worker-of-others", "m/z"}; !slices.Equal(others, want) {
		t.Errorf("the order is %q, want %q", others, want)
	}
	for _, folder := range longest {
		if tests, err := filepath.Glob(filepath.Join("..", "..", "..", folder, "*_test.go")); err != nil || len(tests) == 0 {
			t.Errorf("%s is named as one of the longest and has no tests: %v", folder, err)
		}
	}
}

func TestSlowest(t *testing.T) {
	all := []timed{
		{"p", "TestOne/slow", 9},
		{"p", "TestOne/fast", 1},
		{"p", "TestOne", 10}, // says no more than its first subtest
		{"p", "TestMany/a", 3},
		{"p", "TestMany/b", 3},
		{"p", "TestMany/c/x", 2},
		{"p", "TestMany/c", 2},
		{"p", "TestMany", 8},
		{"q", "TestOne", 4}, // another package's
	}
	var got []string
	for _, s := range slowest(all, 4) {
		got = append(got, s.pkg+" "+s.test)
	}
	if want := []string{"p TestOne/slow", "p TestMany", "q TestOne", "p TestMany/a"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if n := len(slowest(all, 100)); n != 7 {
		t.Errorf("%d are slow, want 7", n)
	}
}

// A run that fails shows what failed and nothing else, and ends as it must.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "go.mod"), "module m\n\ngo 1.26\n")
	write(t, filepath.Join(dir, "none", "none.go"), "package none\n")
	write(t, filepath.Join(dir, "well", "well_test.go"), "package well\n\nimport \"testing\"\n\nfunc TestWell(t *testing.T) { t.Log(\"unheard\") }\n")
	write(t, filepath.Join(dir, "ill", "ill_test.go"), `package ill

import "testing"

func TestGood(t *testing.T) { t.Log("unheard") }

func TestIll(t *testing.T) {
	t.Run("not", func(t *testing.T) { t.Log("unheard") })
	t.Run("sub", func(t *testing.T) { t.Error("heard") })
}
`)
	write(t, filepath.Join(dir, "shaky", "shaky_test.go"), `package shaky

import (
	"os"
	"testing"
)

func TestShaky(t *testing.T) {
	t.Run("sub", func(t *testing.T) {
		if os.Mkdir("been", 0o700) == nil {
			t.Error("heard the first time")
		}
	})
}

func TestSteady(t *testing.T) {}
`)
	write(t, filepath.Join(dir, "broken", "broken_test.go"), "package broken\n\nvar _ int = \"not a number\"\n")
	write(t, filepath.Join(dir, "other", "go.mod"), "module other\n\ngo 1.26\n")
	write(t, filepath.Join(dir, "other", "o_test.go"), "package other\n\nimport \"testing\"\n\nfunc TestOther(t *testing.T) {}\n")
	t.Chdir(dir)

	said := func(args ...string) (string, bool) {
		t.Helper()
		var out, errs bytes.Buffer
		ok, err := run(t.Context(), args, &out, &errs)
		if err != nil {
			t.Fatalf("%v\n%s%s", err, out.String(), errs.String())
		}
		return out.String(), ok
	}
	out, ok := said("1", "./none", "./shaky", "./well", "--", "other")
	if ok = ok && strings.HasSuffix(out, "\nPASS\n"); !ok || strings.Contains(out, "unheard") {
		t.Errorf("a run that passes says\n%s", out)
	}
	for _, want := range []string{
		`heard the first time`, `(?m)^once more, alone: m/shaky TestShaky$`, `(?m)^ok  \tm/shaky\t`, `(?m)^unsteady  m/shaky TestShaky: `,
		`(?m)^\? +\tm/none\t\[no test files\]$`, `(?m)^ok  \tm/well\t`, `(?m)^ok  \tother\t`, `(?m)^slow .* m/well TestWell$`,
	} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("a run that passes does not say %s:\n%s", want, out)
		}
	}
	if out, ok = said("1", "./ill"); ok || !strings.Contains(out, "once more, alone: m/ill TestIll") || strings.Contains(out, "unsteady") {
		t.Errorf("a run that fails twice says\n%s", out)
	}
	out, ok = said("1", "./...")
	if ok || strings.Contains(out, "unheard") || !strings.HasSuffix(out, "\nFAIL\n") {
		t.Errorf("a run that fails says\n%s", out)
	}
	for _, want := range []string{
		`(?m)^--- FAIL: TestIll/sub `, `(?m)^--- FAIL: TestIll `, `(?m)^ +ill_test.go:9: heard$`, `(?m)^FAIL\tm/ill\t`, `(?m)^FAIL\tm/broken \[build failed\]$`,
		`broken_test.go:3:13: .*not a number`, `(?m)^ok  \tm/well\t`,
	} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("a run that fails does not say %s:\n%s", want, out)
		}
	}
}

// A process that dies in the middle of a test takes the reason with it unless all
// is shown that did not end well.
func TestPrinterShowsWhatWasCutOff(t *testing.T) {
	var out bytes.Buffer
	p := newPrinter(&out)
	for _, text := range []string{
		`{"Action":"output","Package":"m","Test":"TestFine","Output":"=== RUN   TestFine\n"}`,
		`{"Action":"output","Package":"m","Test":"TestFine","Output":"unheard\n"}`,
		`{"Action":"pass","Package":"m","Test":"TestFine","Elapsed":1}`,
		`{"Action":"output","Package":"m","Test":"TestDies","Output":"panic: no more\n"}`,
		`{"Action":"output","Package":"m","Output":"FAIL\tm\t1.0s\n"}`,
		`{"Action":"fail","Package":"m","Elapsed":1}`,
		`{"Action":"output","Package":"n","Test":"TestCut","Output":"was doing this\n"}`,
	} {
		var e event
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			t.Fatal(err)
		}
		p.take(job{}, e)
	}
	if p.again(t.Context(), &out) || strings.Contains(out.String(), "once more") {
		t.Error("a process that died is run once more")
	}
	p.finish(false)
	want := "panic: no more\nFAIL\tm\t1.0s\nwas doing this\n"
	if got := out.String(); !strings.HasPrefix(got, want) || !strings.HasSuffix(got, fmt.Sprintf("slow %7.1f s  m TestFine\n\nFAIL\tm\t1.0s\nFAIL\n", 1.0)) {
		t.Errorf("it prints\n%s\nwant first\n%s", got, want)
	}
}
