package sim

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// attackSeeds is how many seeds each attack runs with: few in CI.
func attackSeeds(t *testing.T) uint64 {
	if n := fullSeeds(t); n > 0 {
		return n
	}
	if os.Getenv("BEZOAR_SOAK") != "" {
		if n, err := strconv.Atoi(os.Getenv("BEZOAR_SOAK")); err == nil {
			return uint64(n)
		}
		return 50
	}
	return 1
}

// missed says which parts of the row's bound an outcome misses.
func (r *Row) missed(out *Outcome) (faults []string) {
	c := &out.Good
	if r.Class != "" {
		c = out.Classes[r.Class]
	}
	if n := out.Deaths - out.Probes; r.Deaths >= 0 && n > r.Deaths {
		faults = append(faults, fmt.Sprintf("%d deaths, want at most %d", n, r.Deaths))
	}
	if g := c.Good(); g < r.Good {
		faults = append(faults, fmt.Sprintf("%.2f %% of the innocents were answered, want %.0f", g, r.Good))
	}
	if r.Slowest > 0 && c.Slowest > r.Slowest {
		faults = append(faults, fmt.Sprintf("the slowest innocent took %v, want at most %v", c.Slowest, r.Slowest))
	}
	if r.Late && out.Late > 0 {
		faults = append(faults, fmt.Sprintf("%d of the last pills were answered", out.Late))
	}
	return faults
}

// Laws 3 and 4 hold against the attacks that bounds are stated for.
func TestAttacks(t *testing.T) {
	for _, row := range Rows() {
		t.Run(row.Name, func(t *testing.T) {
			t.Parallel()
			most, least := 0, 100.0
			deaths := map[int]map[int]int{}
			var slow []time.Duration
			for _, workers := range []int{4, 8} {
				for seed := range attackSeeds(t) {
					out, err := RunAttack(row.Attack(seed, workers))
					if err != nil {
						t.Errorf("%d workers, seed %d: %v", workers, seed, err)
					}
					if faults := row.missed(&out); len(faults) > 0 {
						t.Errorf("%d workers, seed %d: %s", workers, seed, strings.Join(faults, "; "))
					}
					most, least = max(most, out.Deaths), min(least, out.Good.Good())
					if deaths[workers] == nil {
						deaths[workers] = map[int]int{}
					}
					deaths[workers][out.Deaths]++
					slow = append(slow, out.Good.Slowest)
				}
			}
			slices.Sort(slow)
			t.Logf("deaths of 4: %v, of 8: %v; slowest: median %v, worst %v", deaths[4], deaths[8], slow[len(slow)/2], slow[len(slow)-1])
			t.Logf("at most %d deaths, at least %.2f %% good", most, least)
		})
	}
}

// Where every worker dies within the window of what it answers, answers before deaths
// that a conviction explains count all the same, so that killers are compared with them:
// these seeds cost 46 and 37 workers before.
func TestAnswersBeforeExplainedDeathsCount(t *testing.T) {
	for _, row := range Rows() {
		if row.Name != "header-values-shared" {
			continue
		}
		for _, seed := range []uint64{23, 28} {
			out, err := RunAttack(row.Attack(seed, 4))
			if err != nil {
				t.Error(err)
			}
			if faults := row.missed(&out); len(faults) > 0 {
				t.Errorf("seed %d: %s", seed, strings.Join(faults, "; "))
			}
		}
	}
}

// What has much of the blame for a death after its answer runs on a clean worker at once: else its caller's pace is
// so slow by the next time that a pill of the last third is still tried, as in these seeds.
func TestLateKillersAreFoundBeforeTheirCallerIsSlow(t *testing.T) {
	for _, row := range Rows() {
		for _, seed := range map[string][]uint64{"after-answer": {59}, "delayed": {61, 112, 119}}[row.Name] {
			for _, workers := range []int{4, 8} {
				out, err := RunAttack(row.Attack(seed, workers))
				if err != nil {
					t.Error(err)
				}
				if faults := row.missed(&out); len(faults) > 0 {
					t.Errorf("%s, %d workers, seed %d: %s", row.Name, workers, seed, strings.Join(faults, "; "))
				}
			}
		}
	}
}

// These seeds missed their bounds once, each for a reason of its own.
func TestSeedsThatOnceMissedTheirBounds(t *testing.T) {
	seeds := map[string]struct {
		seed uint64
		why  string
	}{
		"get-unique-10-shared":  {67, "an answer without traits made the shape forget its endpoint, so that the next shape cost as much again"},
		"shape-shared":          {88, "innocents who have one of the pills' features waited for the turns of the pills"},
		"post-unique-10-shared": {86, "what waited for the pace did not ask again when it had become known"},
		"get-unique-25-busy":    {107, "the shape stayed escalated when its killers' caller was"},
		"lane-starve":           {108, "those that had died with a pill ran in ever smaller company while it waited for its caller's pace"},
		"delayed":               {92, "the pill waited behind 20 innocents, each of which was watched for seconds"},
	}
	for _, row := range Rows() {
		c, ok := seeds[row.Name]
		if !ok {
			continue
		}
		for _, workers := range []int{4, 8} {
			out, err := RunAttack(row.Attack(c.seed, workers))
			if err != nil {
				t.Error(err)
			}
			if faults := row.missed(&out); len(faults) > 0 {
				t.Errorf("%s, %d workers, seed %d: %s; once %s", row.Name, workers, c.seed, strings.Join(faults, "; "), c.why)
			}
		}
	}
}

// Attacks at the same time cost no more than one after the other, and refuse nobody.
func TestMixturesOfAttacks(t *testing.T) {
	rows := map[string]Row{}
	for _, r := range Rows() {
		rows[r.Name] = r
	}
	for _, names := range [][]string{
		{"header", "post-unique-2"},
		{"shape", "get-unique-10"},
		{"header-values", "body-field", "get-unique-2"},
		{"slow-mix", "header-home", "post-unique-2"},
		{"drip", "shape"},
		{"after-answer", "header"},
	} {
		mix := Row{Name: strings.Join(names, "+"), Good: 98}
		for _, n := range names {
			r := rows[n]
			mix.Streams = append(mix.Streams, r.Streams...)
			mix.Deaths += max(r.Deaths, 14)
		}
		t.Run(mix.Name, func(t *testing.T) {
			t.Parallel()
			for seed := range attackSeeds(t) {
				out, err := RunAttack(mix.Attack(seed, 8))
				if err != nil {
					t.Errorf("seed %d: %v", seed, err)
				}
				if faults := mix.missed(&out); len(faults) > 0 {
					t.Errorf("seed %d: %s", seed, strings.Join(faults, "; "))
				}
				t.Logf("seed %d: %d deaths, %.2f %% good", seed, out.Deaths, out.Good.Good())
			}
		})
	}
}

// Whatever an attacker does with work that kills before its answer, alone or with two
// others: no variant of an innocent is convicted, the home page is answered to others than one attacker, and the
// fleet's losses are bounded. Work that kills after its answer, no two alike, is left
// out: it convicts innocents now and then, and nothing slows it (the known gap of
// docs/attacks.md).
func TestStrategiesThatSearchForAWeakness(t *testing.T) {
	manner := []Manner{AtOnce, Soon, Slowly, Harmless}
	tactic := rapid.Custom(func(t *rapid.T) Tactic {
		return Tactic{
			Aim: Aim(rapid.IntRange(0, int(aims)-1).Draw(t, "aim")), Poison: Poison(rapid.IntRange(0, int(poisons)-1).Draw(t, "poison")),
			Manner: rapid.SampledFrom(manner).Draw(t, "manner"), Tenths: rapid.IntRange(1, 200).Draw(t, "in ten seconds"),
			Burst: rapid.IntRange(1, 8).Draw(t, "burst"), Callers: rapid.IntRange(1, 3).Draw(t, "callers"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		a := Attack{
			Name: "a strategy", Seed: rapid.Uint64Range(0, 1000).Draw(t, "seed"), Workers: rapid.SampledFrom([]int{4, 8, 16}).Draw(t, "workers"),
			Lead: 15 * time.Second, Length: 10 * time.Second, Rate: 60,
		}
		tactics := rapid.SliceOfN(tactic, 1, 3).Draw(t, "tactics")
		for _, x := range tactics {
			a.Streams = append(a.Streams, x.Stream())
		}
		out, err := RunAttack(a)
		if err != nil {
			t.Fatal(err)
		}
		// Several callers with pills of other values each time at the home page itself took
		// a third of its answers: a known gap. One caller does not.
		callers := 0
		for _, x := range tactics {
			callers = max(callers, x.Callers)
		}
		if home := out.Classes["home"]; callers == 1 && home.Good() < 85 {
			t.Fatalf("%.1f %% of the home page was answered", home.Good())
		}
		// 96 was the worst seen: one caller's unique POSTs, 79 a second in bursts, that kill
		// after 300 ms. It is a known gap that bursts cost more than the table's 14.
		if most := 160 * len(tactics); out.Deaths > most {
			t.Fatalf("%d deaths in 10 s, want at most %d", out.Deaths, most)
		}
	})
}

// A check that cannot fail proves nothing: without the lane, the table's rows break.
func TestAttacksFindFaults(t *testing.T) {
	row := Rows()[0]
	w := newSiege(row.Attack(1, 8))
	w.faults.noLane = true
	_, err := w.run()
	if err == nil && len(row.missed(&w.siege.out)) == 0 {
		t.Errorf("without a lane the outcome is as good: %+v", w.siege.out)
	}
}

// Workers that die by themselves, busy or idle, one in five seconds, convict nobody.
func TestWorkersThatDieByThemselves(t *testing.T) {
	for _, workers := range []int{4, 8} {
		for seed := range 3 * attackSeeds(t) {
			w := newSiege(Attack{Name: "none", Seed: seed, Workers: workers, Length: time.Minute})
			r := w.stream(401)
			for at := w.siege.begin; at < w.siege.end; at += int64(r.ExpFloat64() * float64(5*time.Second)) {
				w.heap.push(event{at: at, kind: evIdleDeath, a: int32(r.IntN(workers))})
			}
			if _, err := w.run(); err != nil { // law 4: no innocent is refused
				t.Errorf("%d workers, seed %d: %v", workers, seed, err)
			}
			if out := w.siege.out; out.Deaths == 0 || out.Good.Good() < 98 {
				t.Errorf("%d workers, seed %d: %d deaths, %.2f %% were answered", workers, seed, out.Deaths, out.Good.Good())
			}
		}
	}
}

// A seed gives the same run each time: otherwise a seed that missed a bound could not be looked at.
func TestAttacksCanBeRepeated(t *testing.T) {
	for _, row := range Rows() {
		switch row.Name {
		case "delayed", "after-answer-home", "leak", "header-values-shared":
		default:
			continue
		}
		for seed := range uint64(4) {
			first, _ := RunAttack(row.Attack(seed, 8)) // its bounds are other tests'
			again, _ := RunAttack(row.Attack(seed, 8))
			if !reflect.DeepEqual(first, again) {
				t.Errorf("%s, seed %d: %+v, and then %+v", row.Name, seed, first, again)
			}
		}
	}
}
