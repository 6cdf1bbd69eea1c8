package cli

import (
	"slices"
	"strings"
	"testing"
)

// Flags may stand before, between and behind arguments, and mean the same.
func TestFlagsBetweenArguments(t *testing.T) {
	for line, want := range map[string]string{
		"guard check a b":                             "a b",
		"guard check a --json b":                      "a b json",
		"guard check --json a b":                      "a b json",
		"guard check a --kind sql b --json c":         "a b c json kind=sql",
		"guard check a --kind=sql b":                  "a b kind=sql",
		"--json guard check a --kind sql b":           "a b json kind=sql",
		"guard check - --kind sql b":                  "- b kind=sql",
		"guard check a --kind sql -- --json b":        "a --json b kind=sql",
		"guard check a --kind sql b -- --json":        "a b --json kind=sql",
		"guard --json check a --dialect mysql check":  "a check json dialect=mysql",
		"guard replay a --callers 3 b --examples 1 c": "",
		"guard check a --nosuch b":                    "unknown flag --nosuch",
		"guard check a --kind":                        "--kind: expected string value",
		"guard check a --json b --kind":               "--kind: expected string value",
		"guard chek a --json b":                       "unexpected argument chek",
		"version a --json b":                          "unexpected argument a",
		"config diff 1 --json 2":                      "",
	} {
		t.Run(line, func(t *testing.T) {
			var root grammar
			parser, err := newParser(&root)
			if err != nil {
				t.Fatal(err)
			}
			parsed, err := parser.Parse(strings.Fields(line))
			if err != nil {
				if want == "" || !strings.HasPrefix(err.Error(), want) {
					t.Errorf("%v, want %s", err, want)
				}
				return
			}
			if want == "" {
				return
			}
			c := root.Guard.Check
			got := slices.Clone(c.Files)
			if root.JSON {
				got = append(got, "json")
			}
			for _, f := range [][2]string{{"kind", c.Kind}, {"dialect", c.Dialect}} {
				if f[1] != "" {
					got = append(got, f[0]+"="+f[1])
				}
			}
			if text := strings.Join(got, " "); text != want || parsed.Command.Path() == "" {
				t.Errorf("%s, want %s", text, want)
			}
		})
	}
}
