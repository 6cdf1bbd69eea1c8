package guard

import (
	"cmp"
	"strings"

	"github.com/bezoar-dev/bezoar/guard/cost"
	"github.com/bezoar-dev/bezoar/internal/sorted"
)

// policy is Limits, compiled. It is immutable.
type policy struct {
	limits    Limits
	version   int64
	overrides []Override
	dial      float64 // product of the overrides for all classes; included in the classes' dials
	byName    map[string]*classPolicy
	other     *classPolicy // for callers without a class, and for unknown classes
	order     []*classPolicy
	options   cost.Options
}

type classPolicy struct {
	name       string
	match      Match
	dial       float64
	reportOnly bool
	tables     [kinds]table

	whole    change            // effect of overrides on the whole class; included in dial and reportOnly
	callers  map[string]change // effect of overrides on one caller
	patterns []patterned
}

// table holds the rules for one kind, per predictor, most specific first.
type table struct {
	rules    [256][]compiled
	patterns bool // some rule applies to some indices only
}

type compiled struct {
	limit  float64
	action Action
	index  string // "*": all
	rank   rank
	where  string
	fixed  bool // dial and load do not apply
}

func (c *compiled) scaled(scale float64) float64 {
	if c.fixed {
		return c.limit
	}
	return c.limit * scale
}

// fixed reports whether a limit on p is not an amount, so that scaling it makes no sense.
func fixed(p cost.Predictor) bool {
	switch p {
	case cost.CrossJoin, cost.MissingWhere, cost.MultiStatement, cost.RegexPolynomial, cost.RegexSearch:
		return true
	default:
		return false
	}
}

// rank orders rules by specificity. Rules of the same rank all apply.
type rank struct {
	class  int // distance of the rule's class; 0: no class
	index  int // number of literal characters in its pattern
	kind   int
	source int // fromDefault, fromFile or fromOverride
}

// Sources of rules.
const (
	fromDefault = iota
	fromFile
	fromOverride
)

func (a rank) compare(b rank) int {
	return cmp.Or(cmp.Compare(a.source, b.source), cmp.Compare(a.class, b.class), cmp.Compare(a.index, b.index), cmp.Compare(a.kind, b.kind))
}

func compile(l Limits, version int64, overrides []Override) (*policy, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	p := &policy{limits: l, version: version, overrides: overrides, dial: 1, byName: map[string]*classPolicy{}}
	for _, o := range overrides {
		if o.Class == "" && o.Caller == "" {
			p.dial *= times(o.Dial)
		}
	}
	p.options = cost.Options{Defaults: l.Assume}
	if len(l.DeniedFunctions) > 0 {
		p.options.Denied = map[string]struct{}{}
		for _, f := range l.DeniedFunctions {
			p.options.Denied[strings.ToLower(f)] = struct{}{}
		}
	}
	p.other = l.class(nil, overrides)
	for _, c := range l.Classes {
		line, err := l.lineage(c.Name)
		if err != nil {
			return nil, err
		}
		cp := l.class(line, overrides)
		p.byName[c.Name] = cp
		p.order = append(p.order, cp)
	}
	sorted.Func(p.order, func(a, b *classPolicy) int {
		return cmp.Or(-cmp.Compare(a.match.conditions(), b.match.conditions()), cmp.Compare(a.name, b.name))
	})
	return p, nil
}

// class compiles the rules for the first class of line.
func (l Limits) class(line []Class, overrides []Override) *classPolicy {
	cp := &classPolicy{dial: 1, reportOnly: l.ReportOnly}
	near := map[string]int{"": 0}
	for i, c := range line {
		near[c.Name] = len(line) - i
		cp.reportOnly = cp.reportOnly || c.ReportOnly
		if c.Dial > 0 {
			cp.dial *= c.Dial
		}
	}
	if len(line) > 0 {
		cp.name, cp.match = line[0].Name, line[0].Match
	}
	for i, kind := range Kinds() {
		t := &cp.tables[i]
		for _, r := range l.Profile.Rules() {
			t.add(r, kind, near, fromDefault)
		}
		for _, r := range l.Rules {
			t.add(r, kind, near, fromFile)
		}
	}
	cp.override(overrides, near)
	for i := range cp.tables {
		for _, rules := range cp.tables[i].rules {
			sorted.StableFunc(rules, func(a, b compiled) int { return b.rank.compare(a.rank) })
		}
	}
	return cp
}

func (t *table) add(r Rule, kind Kind, near map[string]int, source int) {
	class, ok := near[r.Class]
	if !ok || r.Kind != "" && r.Kind != kind {
		return
	}
	c := compiled{limit: r.Limit, action: r.Action, index: "*", where: r.Where, fixed: fixed(r.Predictor), rank: rank{class: class, source: source}}
	if r.Kind != "" {
		c.rank.kind = 1
	}
	if r.Index != "" && r.Index != "*" {
		c.index, c.rank.index = r.Index, 1+literal(r.Index)
		t.patterns = true
	}
	t.rules[r.Predictor] = append(t.rules[r.Predictor], c)
}

// maxTarget is the maximum length of a list of indices that is checked name by name. A
// longer list is checked against the rules for all indices.
const maxTarget = 2 << 10

// exceeded calls fire for each rule that a measure breaks, with the broken limit. A measure
// on several indices is checked against the rules for each.
func (t *table) exceeded(m *cost.Measure, scale float64, fire func(r *compiled, limit float64)) {
	rules := t.rules[m.Predictor]
	if len(rules) == 0 {
		return
	}
	if len(m.Target) > maxTarget {
		t.exceededOn(rules, "*", m.Value, scale, fire)
		return
	}
	for rest, more := m.Target, true; more; {
		var name string
		name, rest, more = strings.Cut(rest, ",")
		if name != "" && name[0] == '-' { // an index that is excluded from a pattern
			continue
		}
		t.exceededOn(rules, target(strings.TrimSpace(name)), m.Value, scale, fire)
	}
}

// exceededOn finds the most specific rule whose pattern covers the name, which decides.
// Rules for a part of the covered indices apply as well; otherwise a query for * would
// escape them.
func (t *table) exceededOn(rules []compiled, name string, value, scale float64, fire func(*compiled, float64)) {
	var decided *rank
	for i := range rules {
		r := &rules[i]
		if decided != nil && r.rank != *decided {
			return
		}
		covers := r.index == "*" || glob(r.index, name)
		if !covers && !overlap(r.index, name) {
			continue
		}
		if limit := r.scaled(scale); r.action != Off && value > limit {
			fire(r, limit)
		}
		if covers {
			decided = &r.rank
		}
	}
}

// broken reports whether a measure breaks any rule of a table without patterns. It is the
// fast path for accepted queries.
func (t *table) broken(m *cost.Measure, scale float64) bool {
	rules := t.rules[m.Predictor]
	for i := range rules {
		r := &rules[i]
		if i > 0 && r.rank != rules[0].rank {
			return false
		}
		if r.action != Off && m.Value > r.scaled(scale) {
			return true
		}
	}
	return false
}

func (p *policy) class(name string) *classPolicy {
	if c, ok := p.byName[name]; ok {
		return c
	}
	return p.other
}
