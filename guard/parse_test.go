package guard

import (
	"errors"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/guard/cost"
	"github.com/bezoar-dev/bezoar/internal/control/config"
)

func TestLimitsAreReadStrictly(t *testing.T) {
	for in, want := range map[string]string{
		"dail: 2":                 "g:1:1: dail: is not a known key — did you mean dial?",
		"dial: 0":                 `g:1:7: dial: "0" is not a valid factor — write a factor above 0 and at most 1000, such as 0.5 or 50%`,
		"dial: NaN":               `g:1:7: dial: "NaN" is not a valid factor — write a factor above 0 and at most 1000, such as 0.5 or 50%`,
		"load_floor: 150%":        `g:1:13: load_floor: "150%" is not a valid factor — write a factor above 0 and at most 1, such as 0.5 or 50%`,
		"rules: [{limit: 3}]":     "g:1:9: rules[0]: names no predictor — add predictor: agg_product, or another",
		"rules: [{predictor: x}]": `g:1:21: rules[0].predictor: "x" is not a predictor — see docs/guard-limits.md`,
		"rules: [{predictor: agg_prodct, limit: 1}]":                                 `g:1:21: rules[0].predictor: "agg_prodct" is not a predictor — did you mean agg_product?`,
		"rules: [{predictor: script}]":                                               "g:1:9: rules[0]: changes nothing — add limit: 1000, action: off, or both",
		"rules: [{predictor: script, limit: many}]":                                  `g:1:36: rules[0].limit: "many" is not a limit — write a number such as 10000, 64k or 1e6, a time such as 5m, or unbounded`,
		"rules: [{predictor: script, limit: -1}]":                                    `g:1:36: rules[0].limit: "-1" is not a limit — write a number such as 10000, 64k or 1e6, a time such as 5m, or unbounded`,
		"rules: [{predictor: script, action: rejct}]":                                `g:1:37: rules[0].action: "rejct" is not an action — did you mean reject?`,
		"rules: [{predictor: script, action: off, kind: lisp}]":                      `g:1:48: rules[0].kind: "lisp" is not a kind — write one of elasticsearch, opensearch, sql, graphql, regex`,
		"rules: [{predictor: script, action: off, class: ab}]\nclasses: {abc: {}}":   `g:1:49: rules[0].class: there is no class "ab" — did you mean abc?`,
		"classes: {a: {inherits: b}, b: {inherits: a}}":                              "g:1:25: classes.a.inherits: class \"a\" inherits in a circle, or from more than 8 classes — remove one inherits\ng:1:43: classes.b.inherits: class \"b\" inherits in a circle, or from more than 8 classes — remove one inherits",
		"classes: {a: {inherits: c}}":                                                `g:1:25: classes.a.inherits: there is no class "c" — name another of the classes`,
		"classes: {a: {match: {header: [X]}}}":                                       `g:1:32: classes.a.match.header[0]: "X" is not a name and a pattern — write "X-Team: search-*"`,
		"classes: {a: {rules: [{predictor: script, action: off, class: b}]}, b: {}}": "g:1:63: classes.a.rules[0].class: names another class than the enclosing one — remove it, or move the rule to the top",
		"unparsable: cap":             "g:1:13: unparsable: cap is not allowed here — write reject, report or accept",
		"regex: {polynomial: maybe}":  `g:1:21: regex.polynomial: "maybe" is not an action — write reject, cap, report or off`,
		"assume: {cardinality: none}": `g:1:23: assume.cardinality: "none" is not a number above 0 — write a number above 0, such as 10000, 64k or 1e6`,
		"rules: {predictor: script}":  "g:1:8: rules: is a mapping, want a list — write the items as - lines below it",
	} {
		_, err := ParseLimits("g", []byte(in))
		if got := text(err); got != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestWordsOfTheFileBecomeRules(t *testing.T) {
	l := limits(t, `
unparsable: accept
inline_scripts: reject
denied_functions: [Load_File]
regex: {polynomial: report, search_only: reject, unknown: reject}
assume: {date_span: 90d, cardinality: 5k, docs: unbounded}
rules:
  - {predictor: scroll_ttl, limit: 5m}
  - {predictor: terms_count, limit: 64KiB, action: report}
classes:
  app: {inline_scripts: accept, rules: [{predictor: fetch, limit: unbounded}]}
`)
	if err := l.Validate(); err != nil {
		t.Fatal(err)
	}
	is := func(class string, m cost.Measure, want Outcome) {
		t.Helper()
		g := withMeasures(t, l, m)
		if v := check(g, Query{Kind: Elasticsearch, Class: class}); v.Verdict != want {
			t.Errorf("%v %v of class %q: %s, want %s", m.Predictor, m.Value, class, v.Verdict, want)
		}
	}
	is("", cost.Measure{Predictor: cost.Unparsable, Value: 1}, Accepted)
	is("", cost.Measure{Predictor: cost.Script, Value: 1}, Rejected)
	is("app", cost.Measure{Predictor: cost.Script, Value: 1000}, Accepted)
	is("", cost.Measure{Predictor: cost.RegexPolynomial, Value: 2}, Reported)
	is("", cost.Measure{Predictor: cost.RegexSearch, Value: 2}, Rejected)
	is("", cost.Measure{Predictor: cost.RegexUnknown, Value: 1}, Rejected)
	is("", cost.Measure{Predictor: cost.RegexExponential, Value: inf()}, Rejected)
	is("", cost.Measure{Predictor: cost.ScrollTTL, Value: 300}, Accepted)
	is("", cost.Measure{Predictor: cost.ScrollTTL, Value: 301}, Rejected)
	is("", cost.Measure{Predictor: cost.TermsCount, Value: 65_537}, Reported)
	is("", cost.Measure{Predictor: cost.Fetch, Value: 101}, Rejected)
	is("app", cost.Measure{Predictor: cost.Fetch, Value: 1e9}, Accepted)
	if a := l.Assume; a.Cardinality != 5000 || a.DateSpan.Hours() != 90*24 || a.Docs != inf() {
		t.Errorf("%+v", a)
	}
	p, err := compile(l, 1, nil)
	if _, ok := p.options.Denied["load_file"]; err != nil || !ok {
		t.Errorf("denied: %v, %v", p.options.Denied, err)
	}
}

func TestEveryPredictorHasADefaultAndAFix(t *testing.T) {
	for _, p := range cost.Predictors() {
		found := false
		for _, d := range defaults() {
			found = found || d.predictor == p
		}
		if !found {
			t.Errorf("%s has no default", p)
		}
		for _, k := range Kinds() {
			fix := fixOf(p, k, 12)
			if fix == "" || strings.Contains(fix, "%!") || strings.HasPrefix(fix, "bring it down") {
				t.Errorf("%s: %q", p, fix)
			}
		}
	}
}

func TestValidateJoinsEveryFault(t *testing.T) {
	err := Config{
		LogRate: -1, LogBurst: -1, SlowAfter: -1, MaxCallers: -1, MaxShapes: -1,
		Limits: Limits{
			Dial: -1, LoadFloor: 2, Classes: []Class{{}, {Name: "a"}, {Name: "a"}, {Name: "b", Inherits: "c", Dial: -1}},
			Rules: []Rule{{}, {Predictor: cost.Script, Limit: -1}, {Predictor: cost.Script, Action: "x"}, {Predictor: cost.Script, Action: Off, Class: "z"}, {Predictor: cost.Script, Action: Off, Kind: "z"}},
		},
	}.Validate()
	for _, want := range []string{
		"LogRate", "LogBurst", "SlowAfter", "MaxCallers", "MaxShapes", "Dial is -1", "LoadFloor", "Classes[0].Name is empty", "Classes[2].Name", "Classes[3].Dial",
		"Classes[3].Inherits", "Rules[0].Predictor", "Rules[1].Limit", "Rules[2].Action", "Rules[3].Class", "Rules[4].Kind",
	} {
		if !strings.Contains(text(err), want) {
			t.Errorf("nothing about %s in:\n%v", want, err)
		}
	}
	if _, err := New(Config{LogRate: -1}); err == nil {
		t.Error("an invalid guard was made")
	}
	if err := (Config{}).Validate(); err != nil {
		t.Error(err)
	}
}

func FuzzParseLimits(f *testing.F) {
	f.Add([]byte(layered))
	f.Add([]byte("dial: 50%\nregex: {unknown: report}\nassume: {docs: 1e9}"))
	f.Add([]byte("classes: {a: {inherits: a}}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := ParseLimits("f", data)
		if err != nil {
			if faults := (*config.Faults)(nil); !errors.As(err, &faults) || faults.List[0].Problem == "" {
				t.Fatalf("%v names no fault", err)
			}
			return
		}
		if _, err := compile(l, 1, nil); err != nil {
			t.Fatalf("what was read is invalid: %v", err)
		}
	})
}

// The guide's limits and hints are read, and it names every predictor.
func TestTheGuideIsTrue(t *testing.T) {
	guide := string(readFile(t, "../docs", "guard-limits.md"))
	for _, p := range cost.Predictors() {
		if !strings.Contains(guide, "`"+p.String()+"`") {
			t.Errorf("docs/guard-limits.md does not name %s", p)
		}
	}
	parts := strings.Split(guide, "```yaml\n")
	if len(parts) < 3 {
		t.Fatalf("docs/guard-limits.md has %d examples of files, want limits and hints last", len(parts)-1)
	}
	for i, part := range parts[len(parts)-2:] {
		file, _, _ := strings.Cut(part, "```")
		if i == 0 {
			limits(t, file)
		} else if _, warnings, err := ParseHints("guide", []byte(file)); err != nil || len(warnings) > 0 {
			t.Error(warnings, err)
		}
	}
}
