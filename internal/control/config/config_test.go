package config

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bezoar-dev/bezoar/fingerprint"
	"github.com/bezoar-dev/bezoar/internal/test/golden"
)

// same compares settings; an empty list and none at all say the same.
func same(a, b Config) string {
	return cmp.Diff(a, b, cmpopts.EquateEmpty(), cmpopts.EquateComparable(netip.Prefix{}))
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func files(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files match %s: %v", pattern, err)
	}
	return paths
}

func TestEveryFaultIsNamedWithItsPlaceAndFix(t *testing.T) {
	for _, path := range files(t, "testdata/bad/*.yaml") {
		name := filepath.Base(path)
		t.Run(name, func(t *testing.T) {
			_, err := Parse(name, read(t, path))
			var faults *Faults
			if !errors.As(err, &faults) {
				t.Fatalf("got %v, want Faults", err)
			}
			for _, f := range faults.List {
				if f.Line == 0 || f.Column == 0 || f.Fix == "" {
					t.Errorf("no place or no fix: %v", f)
				}
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Error("a fault repeats a secret")
			}
			golden.Equal(t, "bad/"+strings.TrimSuffix(name, ".yaml")+".want", []byte(err.Error()+"\n"))
		})
	}
}

func TestShowFillsInDefaultsAndParsesBack(t *testing.T) {
	for _, path := range files(t, "testdata/good/*.yaml") {
		name := filepath.Base(path)
		t.Run(name, func(t *testing.T) {
			c, err := Parse(name, read(t, path))
			if err != nil {
				t.Fatal(err)
			}
			out := c.YAML()
			golden.Equal(t, "good/"+strings.TrimSuffix(name, ".yaml")+".want", out)
			if bytes.Contains(out, []byte("hunter2")) {
				t.Error("shows a secret")
			}
			if err := c.Validate(); err != nil {
				t.Errorf("what Parse accepted is invalid: %v", err)
			}
			back, err := Parse("shown", out)
			if err != nil {
				t.Fatalf("what was shown does not parse: %v", err)
			}
			if name == "secrets.yaml" {
				return // masked values cannot come back
			}
			if d := same(c, back); d != "" {
				t.Error("shown and read back (-was +is):", d)
			}
		})
	}
}

func TestDefaultIsTheEmptyFile(t *testing.T) {
	c, err := Parse("empty", nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := same(Default(), c); d != "" {
		t.Error("default and empty file differ:", d)
	}
	if err := Default().Validate(); err != nil {
		t.Error(err)
	}
	if c.StateDir != ".bezoar" {
		t.Errorf("state_dir is %q", c.StateDir)
	}
}

func TestValidateChecksWhatFlagsBuilt(t *testing.T) {
	c := Default()
	f, r := DefaultFleet(), DefaultRoute()
	f.Command = []string{"./server"}
	r.Match.Path, r.Fleet = "/*", "app"
	c.Fleets, c.Routes = map[string]Fleet{"app": f}, []Route{r}
	if err := c.Normalize().Validate(); err != nil {
		t.Fatalf("a sound Config is refused: %v", err)
	}
	if n := c.Fleets["app"].Replicas; n != defaultReplicas {
		t.Errorf("replicas are %d", n)
	}
	f.Replicas, f.Grace, r.Retry.Attempts, r.Fleet = -1, 2*time.Hour, 0, "ap"
	c.Fleets["app"], c.Routes[0] = f, r
	got := fmt.Sprint(c.Validate())
	for _, want := range []string{
		"fleets.app.replicas: -1 is too little — write 1 to 1024",
		"fleets.app.grace: 2h is too much — write 0s to 10m",
		"routes[0].retry.attempts: 0 is too little — write 1 to 10",
		`routes[0].fleet: there is no fleet "ap" — define it under fleets, did you mean app?`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("missing %q in:\n%s", want, got)
		}
	}
}

func TestLoadEditsBeforeItChecks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bezoar.yaml")
	if err := os.WriteFile(path, []byte("admin: 0.0.0.0:7070\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path, nil); err == nil {
		t.Error("an open admin address without a token was accepted")
	}
	c, err := Load(path, func(c *Config) { c.AdminTokenEnv, c.Store = "TOKEN", "sqlite:/var/lib/b.db" })
	if err != nil {
		t.Fatal(err)
	}
	if c.StateDir != "/var/lib/.bezoar" {
		t.Errorf("state_dir %q does not follow the edited store", c.StateDir)
	}
	if _, err := Load(path+".absent", nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file gave %v", err)
	}
}

func TestBounds(t *testing.T) {
	bomb := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < 9; i++ {
		bomb += fmt.Sprintf("a%d: &a%d [%s]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10))
	}
	fleets := "fleets:\n"
	for i := range 900 {
		fleets += fmt.Sprintf("  f%d: {replicas: 0}\n", i)
	}
	aliases := "fleets:\n  a:\n    workers: &w [" + strings.Repeat("http://h:1, ", 900) + "]\n"
	for i := range 25 {
		aliases += fmt.Sprintf("  f%d: {workers: *w}\n", i)
	}
	for name, tt := range map[string]struct{ in, want string }{
		"size":    {strings.Repeat("#", MaxFileSize+1), "larger than 1MiB"},
		"depth":   {"a: " + strings.Repeat("[", 100), "is not YAML"},
		"bomb":    {bomb, "is not a known key"},
		"keys":    {"fleets:\n" + strings.Repeat("  x: {}\n", maxEntries+1), "has 1001 keys"},
		"items":   {"routes: [" + strings.Repeat("{}, ", maxEntries+1) + "]", "has 1001 items"},
		"text":    {"store: sqlite:" + strings.Repeat("x", maxTextBytes), "bytes long"},
		"faults":  {fleets, "… and 850 more"},
		"aliases": {aliases, "holds more than 20000 values"},
		"cycle":   {"fleets: &f {a: {env: *f}}", "want one value"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("big", []byte(tt.in))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %.300v, want %q", err, tt.want)
			}
			if err != nil && len(err.Error()) > 32<<10 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/bad/*.yaml", "testdata/good/*.yaml"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse("fuzz", data)
		if err != nil {
			var faults *Faults
			if !errors.As(err, &faults) || len(faults.List) == 0 || len(faults.List) > MaxFaults {
				t.Fatalf("a refusal without a bounded list of faults: %v", err)
			}
			return
		}
		for i, r := range c.Routes {
			if err := (fingerprint.Config{Headers: r.Headers, Ignore: r.Ignore, Volatile: r.Volatile}).Validate(); err != nil {
				t.Fatalf("routes[%d] is accepted here and refused by the fingerprint: %v", i, err)
			}
		}
		shown := c.YAML()
		back, err := Parse("shown", shown)
		if bytes.Contains(shown, []byte("secret")) {
			return // perhaps masked
		}
		if err != nil {
			t.Fatalf("what was shown does not parse: %v\n%s", err, shown)
		}
		if d := same(c, back); d != "" {
			t.Fatalf("shown and read back (-was +is): %s\n%s", d, shown)
		}
	})
}
