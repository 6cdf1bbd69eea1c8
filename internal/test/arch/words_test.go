package arch

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// oldWord is a private word that the field has a better one for.
type oldWord struct{ old, use string }

// oldWords are found as words of prose and as parts of names: ruleTwin has twin.
func oldWords() []oldWord {
	return []oldWord{
		{"hall", "connection limiter"},
		{"guest", "connection"},
		{"applicant", "client identity"},
		{"fate", "outcome"},
		{"grounds", "rejection"},
		{"twin", "duplicate"},
		{"twins", "duplicates"},
		{"dealt", "assigned"},
		{"deck", "generation"},
		{"spill", "overflow"},
		{"spilled", "overflowed"},
		{"kase", "case"},
		{"docket", "listing"},
		{"forsaken", "abandoned"},
		{"bequeath", "hand over"},
		{"heir", "next holder"},
		{"heirs", "next holders"},
		{"referee", "judge"},
		{"tenure", "the duration itself"},
		{"vitals", "process statistics"},
		{"sight", "metrics"},
		{"sighting", "observability"},
		{"sieve", "row feeder"},
		{"kennel", "fleet watchdog"},
		{"vigil", "health loop"},
		{"stillborn", "failed start"},
		{"errand", "store operation"},
		{"memo", "cache"},
		{"desk", "triage"},
		{"trial", "attempt, probe or test"},
		{"trials", "attempts, probes or tests"},
	}
}

// oldPhrases are regular expressions, for words that plain English needs as well.
// Each begins with plain text, which is looked for fast.
func oldPhrases() []oldWord {
	return []oldWord{
		{`known by heart\b`, "held in memory"},
		{`probe\.External\b`, "probe.ExternalWorkers"},
		{`internal/(?:book|starts|trouble)\b`, "internal/state/facts, startlog, errlog"},
		{`blame\.Book\b`, "blame.State"},
		{`\[Book[.\]]`, "State"},
		{`dispatch\.Worst\b`, "RetryBound"},
		{`backoff\.Worst\b`, "RetryBound"},
		{`Config\.Worst\b`, "RetryBound"},
		{`judge\.Meet(?:ing)?\b`, "judge.Admit, Admission"},
		{`shard\.Hand(?:Of)?\b`, "shard.Assign, AssignAmong"},
		{`shard: {hand\b`, "size"},
		{`type (?:stay|visit|terms|trouble|book|Book|Meeting)\b`, "the standard name"},
		{`bezoar_breaker_changes_untold\b`, "bezoar_breaker_changes_pending"},
		{`bezoar_stale_asked_total\b`, "bezoar_stale_lookups_total"},
	}
}

// wordExceptions are places in which an old word means something else.
func wordExceptions() []struct{ word, in, why string } {
	return []struct{ word, in, why string }{
		{"spill", "internal/process/rowfeed/", "output spills to a file: the field's word"},
		{"sieve", "internal/gateway/stale/", "SIEVE is the name of a published algorithm"},
		{"desk", "internal/control/admin/control_test.go", "the name of an operator's machine"},
		{"desk", "internal/cli/", "the name of an operator's machine"},
		{"desk", "internal/demo/sample/", "furniture"},
		{"trial", "queue/", "its one meaning: a message that shows whether a queue works again"},
		{"trials", "queue/", "likewise"},
		{"trial", "internal/judge/", "likewise"},
		{"trial", "worker/", "likewise"},
		{"trial", "flow/", "likewise, of a downstream"},
		{"guest", "internal/brokers/amqp/", "the name of RabbitMQ's own user"},
		{"guest", "docs/rabbitmq.md", "likewise"},
		{"guest", "scripts/rabbitmq", "likewise"},
		{"trial", "guard/", "the name of a class of callers"},
	}
}

// TestOldWordsAreGone searches what people read: code, tests, docs, settings,
// help, pages and scripts. The changelog tells the old names to those who knew them.
func TestOldWordsAreGone(t *testing.T) {
	used := map[string]bool{}
	found, err := findOldWords(os.DirFS("../../.."), used)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		t.Error(f)
	}
	for _, e := range wordExceptions() {
		if !used[e.word+" "+e.in] {
			t.Errorf("the exception for %q in %s is not needed any more: remove it", e.word, e.in)
		}
	}
}

func TestOldWordsAreFound(t *testing.T) {
	for text, want := range map[string]string{
		"func ruleTwin() {}": `"twin"`, "a TWIN of it": `"twin"`, "bezoar_fleet_spilled_total 1": `"spilled"`,
		"known by heart": "known by heart", "see [Book.SelfCrash]": "[Book", "type terms struct {": "type (?:stay",
		"between, marshalled, their, memory, desktops, fated": "",
	} {
		found, err := findOldWords(fstest.MapFS{"docs/a.md": {Data: []byte("one\n" + text + "\n")}}, map[string]bool{})
		if err != nil {
			t.Fatal(err)
		}
		if want == "" && len(found) > 0 || want != "" && (len(found) != 1 || !strings.HasPrefix(found[0], "docs/a.md:2: ") || !strings.Contains(found[0], want)) {
			t.Errorf("%q: got %q, want %q", text, found, want)
		}
	}
}

// findOldWords returns where old words are, and notes in used which exceptions
// were needed. Data that others have made (traces, queries, corpora) is left out.
func findOldWords(tree fs.FS, used map[string]bool) (found []string, err error) {
	words := map[string]string{}
	for _, w := range oldWords() {
		words[w.old] = w.use
	}
	var phrases []*regexp.Regexp
	for _, p := range oldPhrases() {
		phrases = append(phrases, regexp.MustCompile(p.old))
	}
	err = fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch base := path.Base(name); {
		case err != nil:
			return err
		case d.IsDir() && (base == ".git" || base == "node_modules" || base == "testdata" && !strings.HasPrefix(name, "internal/")):
			return fs.SkipDir
		case !d.Type().IsRegular() || base == "CHANGELOG.md" || base == "go.sum" || name == "internal/test/arch/words_test.go":
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil || bytes.IndexByte(text[:min(len(text), 8192)], 0) >= 0 {
			return err // or it is no text
		}
		say := func(at int, old, use string) {
			for _, e := range wordExceptions() {
				if e.word == old && strings.HasPrefix(name, e.in) {
					used[e.word+" "+e.in] = true
					return
				}
			}
			found = append(found, fmt.Sprintf("%s:%d: %q is an old word: use %q", name, 1+bytes.Count(text[:at], []byte("\n")), old, use))
		}
		look := func(at int, word []byte) {
			if use, ok := words[string(word)]; ok {
				say(at, string(word), use)
			}
		}
		eachWord([]byte(name), func(_ int, word []byte) { look(0, word) })
		eachWord(text, look)
		for i, p := range phrases {
			for _, m := range p.FindAllIndex(text, -1) {
				say(m[0], oldPhrases()[i].old, oldPhrases()[i].use)
			}
		}
		return nil
	})
	slices.Sort(found)
	return found, err
}

// eachWord calls f for each word of text in lower case, and each part of a name
// in camel case.
func eachWord(text []byte, f func(at int, word []byte)) {
	letter := func(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
	var word []byte
	for i := 0; i <= len(text); i++ {
		end := i == len(text) || !letter(text[i]) || len(word) > 0 && text[i] < 'a' && text[i-1] >= 'a'
		if end && len(word) > 0 {
			f(i-len(word), word)
			word = word[:0]
		}
		if i < len(text) && letter(text[i]) {
			word = append(word, text[i]|0x20)
		}
	}
}
