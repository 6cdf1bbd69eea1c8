package config

import (
	"strings"
	"testing"
)

func TestBlocksAreFoundAndReplaced(t *testing.T) {
	const path = "routes[1].guard.rules"
	text := `# ours
routes:
  - match: {path: /a}
    guard: {query: sql, rules: "dial: 1"}
  - match: {path: /b}
    guard:
      query: sql
      rules: |
        dial: 50%

        # a word
        rules:
          - {predictor: in_list, limit: 5}

    fleet: b
  - match: {path: /c}
`
	b, ok := FindBlock([]byte(text), path)
	if !ok || b.Line != 9 || b.Indent != 8 || !strings.HasPrefix(b.Text, "dial: 50%\n\n# a word\n") {
		t.Fatalf("%+v, %v", b, ok)
	}
	out, err := b.Replace([]byte(text), path, "dial: 2\nrules:\n  - {predictor: offset, limit: 7}\n")
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(text, `        dial: 50%

        # a word
        rules:
          - {predictor: in_list, limit: 5}
`, `        dial: 2
        rules:
          - {predictor: offset, limit: 7}
`, 1)
	if string(out) != want {
		t.Errorf("it is\n%s\nwant\n%s", out, want)
	}
	if _, err := b.Replace([]byte(text), path, "  dial: 2\nrules: []\n"); err == nil {
		t.Error("a text that does not come out the same was put in")
	}
	for _, bad := range []string{"routes[0].guard.rules", "routes[2].guard.rules", "routes[9].guard.rules", "routes[1].guard", "routes[1].guard.query", "rules", "routes[x].guard", ""} {
		if b, ok := FindBlock([]byte(text), bad); ok {
			t.Errorf("%s is %+v", bad, b)
		}
	}
	for _, other := range []string{"a: |2\n   x: 1\n", "a: >\n  x: 1\n", "a: &b |\n  x: 1\n", "a:\n  |\n  x: 1\n", "a: [", ""} {
		if b, ok := FindBlock([]byte(other), "a"); ok && b.Text != "x: 1\n" {
			t.Errorf("%q is %+v", other, b)
		}
	}
	if b, ok := FindBlock([]byte("a: |- # why\n  x: 1"), "a"); !ok || b.Text != "x: 1" {
		t.Errorf("%+v, %v", b, ok)
	}
}
