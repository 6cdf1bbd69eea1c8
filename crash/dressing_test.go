package crash

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// dressings are what logs and issues do to every line.
func dressings() map[string]func(l string) string {
	before := func(p string) func(string) string { return func(l string) string { return p + l } }
	return map[string]func(string) string{
		"colours":    func(l string) string { return "\x1b[31m" + l + "\x1b[0m" },
		"crlf":       func(l string) string { return l + "\r" },
		"compose":    before("web_1  | "),
		"runtime":    before("2024-05-11T08:14:02.123456789Z stderr F "),
		"actions":    before("2024-05-11T08:14:02.1234567Z "),
		"syslog":     before("May 11 08:14:02 node-7 shop[812]: "),
		"quoted":     before("> "),
		"indented":   before("    "),
		"kubernetes": before("[pod/shop-5d9c/app] "),
		"japanese":   before("5月 11 08:14:02 node-7 shop[812]: "),
		"french":     before("avril 11 08:14:02 node-7 shop[812]: "),
		"logfmt": func(l string) string {
			return `time="2024-05-11T08:14:02Z" level=error msg=` + strconv.Quote(l) + " plugin=cf308cb0b964"
		},
		"fpm": func(l string) string {
			return `[11-May-2024 08:14:02] WARNING: [pool www] child 812 said into stderr: "` + l + `"`
		},
	}
}

// wrappings are what stands around a whole output.
func wrappings() map[string]func(s string) string {
	return map[string]func(string) string{
		"json message": func(s string) string { return `{"level":"error","message":` + quote(s) + "}\n" },
		"json stack":   func(s string) string { return `{"level":"error","msg":"failed","stack":` + quote(s) + "}\n" },
		"fence":        func(s string) string { return "It dies:\n```\n" + s + "\n```\nwhen I start it\n" },
		"terminal": func(s string) string {
			return "ann@node-7:~/shop$ ./start\nstarting\n" + s + "\nann@node-7:~/shop$ \n"
		},
		"log before": func(s string) string {
			return "2024-05-11 08:14:02 WARN  retrying, error 3 of 5\n2024-05-11 08:14:03 ERROR request failed: timeout\n" + s
		},
		"twice": func(s string) string { return s + "\n\n" + s },
	}
}

// Every trace that the languages are tested with has the same group in every
// dressing.
func TestEveryLanguageInEveryDressing(t *testing.T) {
	folder := os.Getenv("BEZOAR_CRASH_TRACES")
	pattern := filepath.Join(folder, "*.txt")
	if folder == "" {
		pattern = filepath.Join("testdata", "*", "*.txt")
	}
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) < 20 {
		t.Fatalf("%d files (%v)", len(paths), err)
	}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want, err := ParseBytes(b)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		same := func(name, text string) {
			got, err := ParseBytes([]byte(text))
			if err != nil || got.Group != want.Group {
				t.Errorf("%s in %s (%v)\n\t%s\n\t%s\n\t%q", path, name, err, brief(want), brief(got), got.Why)
			}
		}
		for name, dress := range dressings() {
			if name == "logfmt" && strings.HasPrefix(string(b), `  "error":`) {
				continue // no program writes half of an object as messages of a log
			}
			var out strings.Builder
			for l := range strings.SplitSeq(strings.TrimSuffix(string(b), "\n"), "\n") {
				out.WriteString(dress(l) + "\n")
			}
			same(name, out.String())
		}
		for name, wrap := range wrappings() {
			same(name, wrap(strings.TrimSuffix(string(b), "\n")))
		}
	}
}
