package crash

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A folder of testdata holds traces named bug.variant.txt: variants of a bug
// (other paths, lines, builds, tools) share a group, and no two bugs do.
// want.tsv says of each trace what is read: type, frame, code, quality, class.
func TestTracesOfGo(t *testing.T)     { testTraces(t, "go") }
func TestTracesOfRust(t *testing.T)   { testTraces(t, "rust") }
func TestTracesOfNative(t *testing.T) { testTraces(t, "native") }

func testTraces(t *testing.T, folder string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", folder, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no traces in %s: %v", folder, err)
	}
	want, err := os.ReadFile(filepath.Join("testdata", folder, "want.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	groups, bugs := map[string]string{}, map[string]string{}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		r, err := ParseBytes(b)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		name := filepath.Base(file)
		fmt.Fprintf(&got, "%s\t%s\t%s\t%s:%d\t%s\t%s\t%s\n", name, r.Type, r.Frame.Function, base(r.Frame.File), r.Frame.Line, r.Code, r.Quality, r.Class)
		bug, _, _ := strings.Cut(name, ".")
		if other, ok := groups[bug]; ok && other != r.Group {
			t.Errorf("%s: variants of one bug have two groups", name)
		}
		if other, ok := bugs[r.Group]; ok && other != bug {
			t.Errorf("%s: has the group of another bug, %s", name, other)
		}
		groups[bug], bugs[r.Group] = r.Group, bug
	}
	lines := strings.Split(string(want), "\n")
	for i, l := range strings.Split(got.String(), "\n") {
		if i >= len(lines) || l != lines[i] {
			t.Errorf("read\n%s\nwant\n%s", l, append(lines, make([]string, i+1)...)[i])
		}
	}
}

// FuzzReadOfCompiled asks the readers of compiled languages at every line: they
// never panic, never claim what is behind the text, and keep little.
func FuzzReadOfCompiled(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "*", "*.txt"))
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b[:min(len(b), 2000)]))
	}
	table := []language{sanitizer(), golang(), rust(), native()}
	f.Fuzz(func(t *testing.T, s string) {
		lines := strings.Split(s, "\n")
		for _, l := range table {
			for i := range lines {
				if !l.begins(lines[i]) {
					continue
				}
				tr, next, ok := l.read(lines, i)
				if !ok {
					continue
				}
				if next <= i || next > len(lines) || len(tr.chain) == 0 {
					t.Fatalf("%s at line %d of %d: next %d, chain of %d", l.name, i, len(lines), next, len(tr.chain))
				}
				checkChain(t, l, tr)
			}
		}
	})
}

func checkChain(t *testing.T, l language, tr trace) {
	t.Helper()
	for _, e := range tr.chain {
		if len(e.frames) > 3*cMaxFrames || len(e.code) > 4*discriminatorBytes {
			t.Fatalf("%s keeps %d frames and a code of %d bytes", l.name, len(e.frames), len(e.code))
		}
		for _, f := range e.frames {
			l.library(f)
			l.ignore(f)
			l.canonical(f)
		}
	}
}

func TestDemangle(t *testing.T) {
	for mangled, want := range map[string]string{
		"_ZN4shop5totalERKSs":                "shop::total",
		"_Z4stepi":                           "step",
		"__ZN4shop4CartD2Ev":                 "shop::Cart::~Cart",
		"_ZN4shop4CartIiE3addEi":             "shop::Cart::add",
		"_ZSt9terminatev":                    "std::terminate",
		"main":                               "main",
		"_ZN":                                "_ZN",
		"_ZN99999999999shop":                 "_ZN99999999999shop",
		"_ZN4shopIN3fooE3barE5inner5totalEv": "shop::inner::total",
	} {
		if got := demangle(mangled); got != want {
			t.Errorf("demangle(%q) = %q, want %q", mangled, got, want)
		}
	}
}

func TestBareName(t *testing.T) {
	for function, want := range map[string]string{
		"shop::Cart<shop::Item>::sum(int) const":                         "shop::Cart::sum",
		"starrocks::Env::init(Env*, std::vector<Path, A<Path> > const&)": "starrocks::Env::init",
		"(anonymous namespace)::helper(int)":                             "{anonymous}::helper",
		"std::__cxx11::basic_string<char>::at(unsigned long)":            "std::basic_string::at",
		"shop::Key::operator<(shop::Key const&) const":                   "shop::Key::operator<",
		"run(int)::{lambda(int)#1}::operator()(int) const":               "run",
		"step.isra.0":          "step",
		"void apply<int>(int)": "apply",
		"foo@@GLIBC_2.2.5":     "foo",
	} {
		if got := cBareName(function); got != want {
			t.Errorf("cBareName(%q) = %q, want %q", function, got, want)
		}
	}
}
