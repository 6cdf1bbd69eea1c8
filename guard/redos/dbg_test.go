package redos

import (
	"os"
	"testing"
)

func TestDbg(t *testing.T) {
	pat := os.Getenv("PAT")
	if pat == "" {
		return
	}
	d, _ := ParseDialect(os.Getenv("DIA"))
	o := Options{Dialect: d, Flags: os.Getenv("FL"), Budget: DefaultBudget}
	tr, f := parse(pat, o)
	if f != nil {
		t.Fatal(f)
	}
	a := &analysis{options: o, tree: tr, left: &budget{o.Budget}}
	if !a.prepare(some) {
		t.Fatal("prepare")
	}
	t.Log("prepared", o.Budget-a.left.left, "states", len(a.auto.states), "atoms", len(a.alpha.runes))
	exps := a.auto.exponentials(a.left)
	t.Log("exps", o.Budget-a.left.left)
	loops := append(a.auto.loops(), a.auto.inner(a.graph)...)
	polys := a.auto.polynomials(loops, false, a.reach, a.left)
	t.Log("polys", o.Budget-a.left.left)
	seeks := a.auto.polynomials(loops, true, a.reach, a.left)
	t.Log("seeks", o.Budget-a.left.left)
	for _, c := range append(append(exps, polys...), seeks...) {
		for _, w := range append(a.forge.attacks(c), a.forge.careful(c, a.reach)...) {
			before := a.left.left
			run := runner(a.trial.attempt)
			if c.seek {
				run = a.trial.seek
			}
			t.Logf("%v seek=%v depth=%d pivot %d target %d %+v start %d: doubles %v power %.2f cost %d", c.class, c.seek, c.depth, a.auto.offset(a.graph, c.pivot), a.auto.offset(a.graph, c.target), a.spell(w), w.start, c.class == Exponential && a.trial.doubles(w, run), a.trial.power(w, run), before-a.left.left)
			for n := 1; n < 8; n++ {
				s, _ := run(w, n, 1000000)
				t.Log(n, s)
			}
		}
	}
	t.Logf("%+v", Analyze(pat, o))
}
