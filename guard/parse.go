package guard

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/guard/cost"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/each"
)

// limitsFile is the schema of a file of limits.
type limitsFile struct {
	Profile         string               `yaml:"profile"`
	Dial            string               `yaml:"dial"`
	LoadFloor       string               `yaml:"load_floor"`
	ReportOnly      bool                 `yaml:"report_only"`
	Classes         map[string]classFile `yaml:"classes"`
	Rules           []ruleFile           `yaml:"rules"`
	Unparsable      string               `yaml:"unparsable"`
	InlineScripts   string               `yaml:"inline_scripts"`
	DeniedFunctions []string             `yaml:"denied_functions"`
	Regex           regexFile            `yaml:"regex"`
	Assume          assumeFile           `yaml:"assume"`
}

type classFile struct {
	Match         matchFile  `yaml:"match"`
	Inherits      string     `yaml:"inherits"`
	Dial          string     `yaml:"dial"`
	ReportOnly    bool       `yaml:"report_only"`
	Unparsable    string     `yaml:"unparsable"`
	InlineScripts string     `yaml:"inline_scripts"`
	Regex         regexFile  `yaml:"regex"`
	Rules         []ruleFile `yaml:"rules"`
}

type matchFile struct {
	OpaqueID []string `yaml:"opaque_id"`
	APIKey   []string `yaml:"api_key"`
	User     []string `yaml:"user"`
	Header   []string `yaml:"header"`
}

type ruleFile struct {
	Predictor string `yaml:"predictor"`
	Limit     string `yaml:"limit"`
	Action    string `yaml:"action"`
	Class     string `yaml:"class"`
	Index     string `yaml:"index"`
	Kind      string `yaml:"kind"`
}

type regexFile struct {
	Exponential string `yaml:"exponential"`
	Polynomial  string `yaml:"polynomial"`
	SearchOnly  string `yaml:"search_only"`
	Unknown     string `yaml:"unknown"`
}

type assumeFile struct {
	Cardinality string        `yaml:"cardinality"`
	Docs        string        `yaml:"docs"`
	DateSpan    time.Duration `yaml:"date_span"`
	NumberSpan  string        `yaml:"number_span"`
	Fields      string        `yaml:"fields"`
	Shards      string        `yaml:"shards"`
	Indices     string        `yaml:"indices"`
}

// ParseLimits parses limits from strict YAML. The error lists every fault with line, column
// and a suggestion. name is the file name for errors.
func ParseLimits(name string, data []byte) (Limits, error) {
	var f limitsFile
	r := &limitsReader{name: name, out: Limits{Name: name}}
	err := config.Decode(name, data, &f, func() []config.Fault {
		r.read(&f)
		return r.faults
	})
	if err != nil {
		return Limits{}, err
	}
	return r.out, nil
}

// limitsReader converts a file to Limits and collects faults.
type limitsReader struct {
	name   string
	out    Limits
	faults []config.Fault
}

func (r *limitsReader) bad(path, fix, format string, args ...any) {
	r.faults = append(r.faults, config.Fault{Path: path, Problem: fmt.Sprintf(format, args...), Fix: fix})
}

func (r *limitsReader) read(f *limitsFile) {
	if r.out.Profile = Profile(f.Profile); f.Profile != "" && !slices.Contains(Profiles(), r.out.Profile) {
		r.bad("profile", "write lenient, default or strict", "%s is not a profile", config.Quoted(f.Profile))
	}
	r.out.Dial = r.factor("dial", f.Dial, MaxDial)
	r.out.LoadFloor = r.factor("load_floor", f.LoadFloor, 1)
	r.out.ReportOnly = f.ReportOnly
	r.out.DeniedFunctions = f.DeniedFunctions
	r.out.Assume = cost.Defaults{
		Cardinality: r.amount("assume.cardinality", f.Assume.Cardinality), Docs: r.amount("assume.docs", f.Assume.Docs),
		DateSpan: f.Assume.DateSpan, NumberSpan: r.amount("assume.number_span", f.Assume.NumberSpan),
		Fields: r.amount("assume.fields", f.Assume.Fields), Shards: r.amount("assume.shards", f.Assume.Shards), Indices: r.amount("assume.indices", f.Assume.Indices),
	}
	r.words("", "", f.Unparsable, f.InlineScripts, f.Regex)
	if len(f.Classes) > MaxClasses {
		r.bad("classes", "join classes", "%d classes exceed the limit of %d", len(f.Classes), MaxClasses)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(f.Classes)) {
		r.class(name, f.Classes[name])
	}
	for i, rule := range f.Rules {
		r.rule(fmt.Sprintf("rules[%d]", i), rule, rule.Class)
	}
	r.lineages(f)
	if n := len(r.out.Rules); n > MaxRules {
		r.bad("rules", "join rules by patterns and classes", "%d rules exceed the limit of %d", n, MaxRules)
	}
}

func (r *limitsReader) class(name string, c classFile) {
	at := "classes." + name
	r.out.Classes = append(r.out.Classes, Class{
		Name: name, Inherits: c.Inherits, ReportOnly: c.ReportOnly, Dial: r.factor(at+".dial", c.Dial, MaxDial),
		Match: Match{OpaqueID: c.Match.OpaqueID, APIKey: c.Match.APIKey, User: c.Match.User, Header: c.Match.Header},
	})
	for i, h := range c.Match.Header {
		if n, p, ok := strings.Cut(h, ":"); !ok || strings.TrimSpace(n) == "" || strings.TrimSpace(p) == "" {
			r.bad(fmt.Sprintf("%s.match.header[%d]", at, i), `write "X-Team: search-*"`, "%s is not a name and a pattern", config.Quoted(h))
		}
	}
	r.words(at+".", name, c.Unparsable, c.InlineScripts, c.Regex)
	for i, rule := range c.Rules {
		path := fmt.Sprintf("%s.rules[%d]", at, i)
		if rule.Class != "" && rule.Class != name {
			r.bad(path+".class", "remove it, or move the rule to the top", "names another class than the enclosing one")
		}
		r.rule(path, rule, name)
	}
}

// lineages checks that named classes exist, and that no class inherits in a circle.
func (r *limitsReader) lineages(f *limitsFile) {
	known := slices.Sorted(maps.Keys(f.Classes))
	for _, c := range r.out.Classes {
		if c.Inherits == "" {
			continue
		}
		if _, err := r.out.lineage(c.Name); err != nil {
			fix := "remove one inherits"
			if _, ok := f.Classes[c.Inherits]; !ok {
				others := slices.DeleteFunc(slices.Clone(known), func(k string) bool { return k == c.Name })
				fix = didYouMean(c.Inherits, others, "name another of the classes")
			}
			r.bad("classes."+c.Name+".inherits", fix, "%s", err)
		}
	}
	for i, rule := range f.Rules {
		if _, ok := f.Classes[rule.Class]; rule.Class != "" && !ok {
			fix := didYouMean(rule.Class, known, "name it under classes")
			r.bad(fmt.Sprintf("rules[%d].class", i), fix, "there is no class %s", config.Quoted(rule.Class))
		}
	}
}

func (r *limitsReader) rule(path string, f ruleFile, class string) {
	out := Rule{Class: class, Index: f.Index, Where: r.name + ": " + path}
	p, err := cost.ParsePredictor(f.Predictor)
	switch {
	case f.Predictor == "":
		r.bad(path, "add predictor: agg_product, or another", "names no predictor")
		return
	case err != nil:
		r.bad(path+".predictor", didYouMean(f.Predictor, predictorNames(), "see docs/guard-limits.md"), "%s is not a predictor", config.Quoted(f.Predictor))
		return
	}
	out.Predictor, out.Limit = p, defaultLimit(p)
	if f.Limit != "" {
		out.Limit = r.limit(path+".limit", f.Limit)
	}
	if out.Action = Reject; f.Action != "" {
		out.Action = r.action(path+".action", f.Action)
	}
	if f.Limit == "" && f.Action == "" {
		r.bad(path, "add limit: 1000, action: off, or both", "changes nothing")
	}
	if f.Kind != "" {
		kind, err := ParseKind(f.Kind)
		if err != nil {
			r.bad(path+".kind", "write one of elasticsearch, opensearch, sql, graphql, regex", "%s is not a kind", config.Quoted(f.Kind))
		}
		out.Kind = kind
	}
	r.out.Rules = append(r.out.Rules, out)
}

// words reads settings that stand for rules. before is "", or the path of the class
// followed by a dot.
func (r *limitsReader) words(before, class, unparsable, scripts string, re regexFile) {
	for _, w := range []struct {
		key, word string
		predictor cost.Predictor
	}{
		{"unparsable", unparsable, cost.Unparsable},
		{"inline_scripts", scripts, cost.Script},
		{"regex.exponential", re.Exponential, cost.RegexExponential},
		{"regex.polynomial", re.Polynomial, cost.RegexPolynomial},
		{"regex.search_only", re.SearchOnly, cost.RegexSearch},
		{"regex.unknown", re.Unknown, cost.RegexUnknown},
	} {
		if w.word == "" {
			continue
		}
		path := before + w.key
		action := r.action(path, w.word)
		if action == Cap {
			r.bad(path, "write reject, report or accept", "cap is not allowed here")
		}
		rule := Rule{Predictor: w.predictor, Limit: defaultLimit(w.predictor), Action: action, Class: class, Where: r.name + ": " + path}
		if w.predictor == cost.Script && action != Off {
			rule.Limit = 0
		}
		r.out.Rules = append(r.out.Rules, rule)
	}
}

func (r *limitsReader) action(path, word string) Action {
	switch word {
	case "accept", "allow":
		return Off
	case string(Off), "false", "no":
		return Off
	case string(Report), string(Cap), string(Reject):
		return Action(word)
	}
	r.bad(path, didYouMean(word, []string{"reject", "cap", "report", "off"}, "write reject, cap, report or off"), "%s is not an action", config.Quoted(word))
	return Off
}

// limit parses a number, or a duration in seconds.
func (r *limitsReader) limit(path, text string) float64 {
	if text == "unbounded" || text == "none" {
		return math.Inf(1)
	}
	if f, ok := number(text); ok {
		return f
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return d.Seconds()
	}
	r.bad(path, "write a number such as 10000, 64k or 1e6, a time such as 5m, or unbounded", "%s is not a limit", config.Quoted(text))
	return 0
}

func (r *limitsReader) amount(path, text string) float64 {
	if text == "" {
		return 0
	}
	if text == "unbounded" {
		return math.Inf(1)
	}
	f, ok := number(text)
	if !ok || f <= 0 {
		r.bad(path, "write a number above 0, such as 10000, 64k or 1e6", "%s is not a number above 0", config.Quoted(text))
		return 0
	}
	return f
}

func (r *limitsReader) factor(path, text string, most float64) float64 {
	if text == "" {
		return 0
	}
	num, percent := strings.CutSuffix(text, "%")
	f, err := strconv.ParseFloat(num, 64)
	if percent {
		f /= 100
	}
	if err != nil || !(f > 0 && f <= most) {
		r.bad(path, fmt.Sprintf("write a factor above 0 and at most %v, such as 0.5 or 50%%", most), "%s is not a valid factor", config.Quoted(text))
		return 0
	}
	return f
}

// number parses 10000, 10_000, 64k, 2M, 1e6.
func number(text string) (float64, bool) {
	s := strings.ReplaceAll(text, "_", "")
	times := 1.0
	for _, u := range []struct {
		suffix string
		times  float64
	}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"k", 1e3}, {"K", 1e3}, {"M", 1e6}, {"G", 1e9}, {"B", 1e9}} {
		if n, ok := strings.CutSuffix(s, u.suffix); ok {
			s, times = n, u.times
			break
		}
	}
	if s == "" || strings.Trim(s, "0123456789.eE+") != "" {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	return f * times, err == nil && !math.IsInf(f*times, 0)
}

func defaultLimit(p cost.Predictor) float64 {
	for _, d := range defaults() {
		if d.predictor == p {
			return d.limit
		}
	}
	return 0
}

func predictorNames() []string { return each.Of(cost.Predictors(), cost.Predictor.String) }

func didYouMean(word string, known []string, otherwise string) string {
	if best := config.Nearest(word, known); best != "" {
		return "did you mean " + best + "?"
	}
	return otherwise
}
