package ledger_test

import (
	"encoding/binary"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
	"github.com/bezoar-dev/bezoar/internal/test/pace"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

// Law 10: memory is flat whatever arrives. BEZOAR_SOAK=1 (make soak) fills
// tables of the default size with 10,000,000 good fingerprints and 1,000,000
// unique pills, which takes minutes.
func TestLaw10MemoryIsFlat(t *testing.T) {
	pace.Alone(t)
	good, pills, cfg := uint64(300_000), uint64(10_000), blame.Config{MaxCases: 4096}
	if os.Getenv("BEZOAR_SOAK") != "" {
		good, pills, cfg = 10_000_000, 1_000_000, blame.Config{}
	}
	l, err := ledger.New(ledger.Config{Fleet: "test", Blame: cfg})
	if err != nil {
		t.Fatal(err)
	}
	l.SetFleet(8)
	l.Opened(1)
	unique := func(n, shapes uint64) blame.Work {
		var w blame.Work
		binary.LittleEndian.PutUint64(w.Fingerprint[:], n*0x9e3779b97f4a7c15)
		binary.LittleEndian.PutUint64(w.Fingerprint[8:], n)
		binary.LittleEndian.PutUint64(w.Shape[:], (n%shapes)*0x9e3779b97f4a7c15)
		w.Shape[15] = 1
		return w
	}
	runsClean := func(n uint64) {
		w := unique(n, 1000)
		tk, _, _ := l.Admit(w)
		l.Begin(time.Now(), tk, &w, 1, time.Time{}, false)
		l.Finish(time.Now(), tk, w.Fingerprint, blame.Survived)
	}
	lives := uint64(1)
	kills := func(n uint64) {
		// A shape each: the worst that an attacker can do to the tables.
		w := unique(1<<40+n, 1<<62)
		w.Waited = true // while most of the fleet is down it is sent in any case
		for range 2 {
			tk, d, _ := l.Admit(w)
			if d.Action == blame.Refuse || d.Action == blame.Duplicate {
				return
			}
			lives++
			l.Opened(lives)
			l.Begin(time.Now(), tk, &w, lives, time.Time{}, d.Action == blame.ToLane)
			l.Ended(lives, false, bezoar.Evidence{Worker: "w", Class: bezoar.Crash, Detail: "signal: aborted"})
			l.Close(tk, w.Fingerprint)
		}
	}
	heap := func() float64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc) / (1 << 20)
	}
	empty := heap()
	for n := range good / 10 {
		runsClean(n)
	}
	warm := heap()
	for n := range good {
		runsClean(good + n)
	}
	afterGood := heap()
	for n := range pills {
		kills(n)
	}
	afterPills := heap()
	t.Logf("heap: %.1f MiB empty, %.1f MiB after %d good fingerprints, %.1f MiB after %d, %.1f MiB after %d unique pills in as many shapes",
		empty, warm, good/10, afterGood, good, afterPills, pills)
	if grown := afterGood - warm; grown > 1 {
		t.Errorf("good work grew the heap by %.1f MiB", grown)
	}
	if afterPills > 96 {
		t.Errorf("unique pills grew the heap to %.1f MiB, want at most 96", afterPills)
	}
	runtime.KeepAlive(l)
}
