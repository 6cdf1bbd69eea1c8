package sim

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// fullSeeds is how many seeds run at full size, 10,000 workers and a million
// requests: as many as BEZOAR_SIM_SEEDS says ("make sim": 200), none by default.
func fullSeeds(t *testing.T) uint64 {
	text := os.Getenv("BEZOAR_SIM_SEEDS")
	if text == "" {
		return 0
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		t.Fatalf("BEZOAR_SIM_SEEDS=%s: %v", text, err)
	}
	return n
}

// Laws 2, 3, 4, 6 and 10 hold for every seed.
func TestLawsHold(t *testing.T) {
	for _, size := range []struct {
		workers, requests int
		seeds             uint64
	}{
		{1, 500, 4},
		{2, 1_000, 6},
		{3, 2_000, 4},
		{8, 5_000, 12},
		{30, 10_000, 12},
		{200, 20_000, 4},
		{2_000, 100_000, 1},
		{10_000, 1_000_000, fullSeeds(t)},
	} {
		t.Run(fmt.Sprintf("%d workers, %d requests", size.workers, size.requests), func(t *testing.T) {
			stats, errs := runAll(size.seeds, size.workers, size.requests)
			for _, err := range errs {
				report(t, err)
			}
			t.Logf("%d seeds, %d steps, %d deaths, %d of them by pills; the costliest deterministic pill cost %d",
				size.seeds, stats.Events, stats.Deaths, stats.PillDeaths, stats.WorstPill)
		})
	}
}

// runAll runs the seeds on all cores and adds up what became of them.
func runAll(seeds uint64, workers, requests int) (sum Stats, errs []error) {
	var (
		next atomic.Uint64
		wg   sync.WaitGroup
		mu   sync.Mutex
	)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for seed := next.Add(1) - 1; seed < seeds; seed = next.Add(1) - 1 {
				st, err := Run(From(seed, workers, requests))
				mu.Lock()
				sum.Events += st.Events
				sum.Deaths += st.Deaths
				sum.PillDeaths += st.PillDeaths
				sum.WorstPill = max(sum.WorstPill, st.WorstPill)
				if err != nil {
					errs = append(errs, err)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return sum, errs
}

// report shrinks what broke a law and tells the end of its story.
func report(t *testing.T, err error) {
	t.Helper()
	t.Error(err)
	var b *Broken
	if !errors.As(err, &b) {
		return
	}
	small := Shrink(b.Scenario, func(s Scenario) bool { return breaks(s, b.Law) })
	var story strings.Builder
	_, err = Trace(small, &story)
	lines := strings.Split(story.String(), "\n")
	t.Errorf("shrunk: %v\n%s", err, strings.Join(lines[max(0, len(lines)-40):], "\n"))
}

func breaks(s Scenario, law int) bool {
	_, err := Run(s)
	var b *Broken
	return errors.As(err, &b) && b.Law == law
}

// A check that cannot fail proves nothing: each of these faults is found.
func TestFaultsAreFound(t *testing.T) {
	for _, tc := range []struct {
		name  string
		law   int
		fault faults
	}{
		{"planned ends are reported as crashes", 2, faults{reportPlanned: true}},
		{"suspects run in the fleet", 3, faults{noLane: true}},
		{"copies do not wait for one another", 3, faults{noDuplicates: true}},
		{"something else kills the lane's worker", 4, faults{killLane: true}},
		{"all deaths are said to be one worker's", 6, faults{oneName: true}},
		{"tickets are not given back", 10, faults{keepTickets: true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			fails := func(s Scenario) bool {
				w := newWorld(s)
				w.faults = tc.fault
				_, err := w.run()
				var b *Broken
				return errors.As(err, &b) && b.Law == tc.law
			}
			found := Scenario{}
			for seed := uint64(0); found.Workers == 0 && seed < 50; seed++ {
				s := From(seed, 8, 600)
				s.Pills &^= Conditional // it keeps a fleet without a lane busy for long
				if fails(s) {
					found = s
				}
			}
			if found.Workers == 0 {
				t.Fatalf("50 seeds do not break law %d", tc.law)
			}
			small := Shrink(found, fails)
			t.Logf("%v shrank to %v", found, small)
			if !fails(small) || small.Requests >= found.Requests {
				t.Errorf("%v shrank to %v", found, small)
			}
		})
	}
}

// The same scenario is the same run.
func TestRunsRepeat(t *testing.T) {
	var stories [2]strings.Builder
	for i := range stories {
		if _, err := Trace(From(7, 20, 3_000), &stories[i]); err != nil {
			t.Fatal(err)
		}
	}
	if stories[0].Len() == 0 || stories[0].String() != stories[1].String() {
		t.Error("two runs of one scenario differ")
	}
}

func TestHeapOrders(t *testing.T) {
	r := From(1, 1, 1).stream(1)
	var h heap
	for i := range 1_000 {
		h.push(event{at: r.Int64N(50), a: int32(i)})
	}
	last := event{at: -1}
	for range 1_000 {
		e := h.pop()
		if e.before(&last) {
			t.Fatalf("%+v came after %+v", e, last)
		}
		last = e
	}
}

func BenchmarkRun(b *testing.B) {
	for _, workers := range []int{100, 10_000} {
		b.Run(strconv.Itoa(workers), func(b *testing.B) {
			events := 0
			for seed := uint64(0); b.Loop(); seed++ {
				st, err := Run(From(seed, workers, 10*workers))
				if err != nil {
					b.Fatal(err)
				}
				events += st.Events
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(events), "ns/step")
		})
	}
}
