package main

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// notProse is what no glossary link is wanted in: code, titles and links.
var notProse = regexp.MustCompile("(?ms)^```.*?^```$|``.*?``|`[^`\n]*`|^#[^\n]*$|\\[[^]]*\\]\\([^)]*\\)")

// own are the glossary's words that plain English does not need: a guide's first
// use of each is a link to it.
func own() map[string]*regexp.Regexp {
	out := map[string]*regexp.Regexp{}
	for anchor, forms := range map[string]string{
		"variant": "variants?", "shape": "shapes?", "epoch": "epochs?", "suspect": "suspects?", "isolation-lane": "lane",
		"pardon": "pardon(?:s|ed)?", "quarantine": "quarantined?", "fingerprint": "fingerprints?", "verdict": "verdicts?",
		"dead-letter": "dead letters?", "redrive": "redriv(?:e|es|en)", "failure-group": "failure groups?",
		"failure-fingerprint": "failure fingerprints?",
	} {
		out[anchor] = regexp.MustCompile(`(?i)(?:^|[^\w-])(?:` + forms + `)(?:[^\w-]|$)`)
	}
	return out
}

// otherSense reports whether a guide uses a word in another sense, in which it
// links to nothing or to another entry.
func otherSense(page, anchor string) bool {
	switch page + "#" + anchor {
	case "guard-elasticsearch.md#shape", // of geography
		"sift.md#suspect",                             // a row
		"queue.md#fingerprint", "work.md#fingerprint": // of failures
		return true
	}
	return false
}

// Each guide's first use of a word of Bezoar's own is a link to the glossary, and
// README.md has a link to it too.
func TestFirstUsesLinkToTheGlossary(t *testing.T) {
	guides, err := fs.Glob(os.DirFS("../.."), "docs/*.md")
	if err != nil || len(guides) < 20 {
		t.Fatal(guides, err)
	}
	glossary := read(t, "docs/glossary.md")
	if n := strings.Count(glossary, "\n## "); n < 10 || n > 22 {
		t.Errorf("the glossary has %d words, want 10 to 22", n)
	}
	for anchor, word := range own() {
		if title := "\n## " + strings.ReplaceAll(anchor, "-", " ") + "\n"; !strings.Contains(strings.ToLower(glossary), title) {
			t.Errorf("the glossary has no %s", anchor)
		}
		for _, guide := range guides {
			page := path.Base(guide)
			if page == "glossary.md" || page == "decisions.md" || otherSense(page, anchor) {
				continue
			}
			text := read(t, guide)
			before, _, linked := strings.Cut(text, "](glossary.md#"+anchor+")")
			if linked {
				before = before[:strings.LastIndexByte(before, '[')]
			}
			if use := word.FindString(notProse.ReplaceAllString(before, "")); use != "" {
				t.Errorf("%s: the first use of %q is no link to glossary.md#%s (linked later: %v)", guide, use, anchor, linked)
			}
		}
	}
	if !strings.Contains(read(t, "README.md"), "](docs/glossary.md)") {
		t.Error("README.md has no link to the glossary")
	}
}

func read(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", page))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
