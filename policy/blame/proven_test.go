package blame

import (
	"encoding/binary"
	"math"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
)

func number(n uint64) (fp bezoar.Fingerprint) {
	binary.LittleEndian.PutUint64(fp[:], n*0x9e3779b97f4a7c15)
	binary.LittleEndian.PutUint64(fp[8:], n*0xd1b54a32d192ed03+1)
	return fp
}

func TestHalvedFollowsTheExponential(t *testing.T) {
	for age := range uint32(12_000) {
		want := math.Exp2(-float64(age) / provenHalfLife.Seconds())
		if got := halved(age); math.Abs(got/want-1) > 2e-4 {
			t.Fatalf("halved(%d) = %v, want %v", age, got, want)
		}
	}
	if got := halved(math.MaxUint32); got != 0 {
		t.Errorf("after ages %v is left", got)
	}
}

// Decay applied second by second is the decay of the whole.
func TestSuccessesDecayAlikeHoweverOftenTheyAreTouched(t *testing.T) {
	p := newProven(64)
	steady := number(1)
	for second := range uint32(3600) {
		p.add(steady, second)
	}
	// One a second with a half-life of 600 s tends to 600/ln 2.
	want := 600 / math.Ln2
	if got := p.successes(steady, 3600); math.Abs(got/want-1) > 0.02 {
		t.Errorf("an hour of one success a second is %v, want about %v", got, want)
	}
}

func TestAFloodDoesNotPushOutWhatIsPopular(t *testing.T) {
	p := newProven(1 << 10)
	for i := range uint64(100) {
		for range 10 {
			p.add(number(i), 0)
		}
	}
	for i := range uint64(100_000) {
		p.add(number(1000+i), 1)
	}
	kept := 0
	for i := range uint64(100) {
		if p.successes(number(i), 1) > 9 {
			kept++
		}
	}
	if kept != 100 {
		t.Errorf("%d of 100 popular works are remembered", kept)
	}
	if len(p.slots) != 1<<10 {
		t.Errorf("the table has %d slots", len(p.slots))
	}
	p.forget(number(5))
	if got := p.successes(number(5), 1); got != 0 {
		t.Errorf("forgotten work has %v successes", got)
	}
}

func TestShapesAreRememberedForAnHourOrTwo(t *testing.T) {
	var f bloom
	hour := int64(time.Hour)
	f.init(0)
	f.add(0, number(1))
	for i := range uint64(10_000) {
		f.add(1, number(100+i))
	}
	wrong := 0
	for i := range uint64(10_000) {
		if f.has(number(1_000_000 + i)) {
			wrong++
		}
	}
	if !f.has(number(1)) || wrong > 50 {
		t.Errorf("seen %v; %d of 10,000 unseen shapes pass for seen", f.has(number(1)), wrong)
	}
	f.add(hour+1, number(2)) // a new generation
	if !f.has(number(1)) || !f.has(number(2)) {
		t.Error("the generation before is forgotten too early")
	}
	f.add(2*hour+2, number(3))
	if f.has(number(1)) || !f.has(number(2)) || !f.has(number(3)) {
		t.Error("two hours later it is still remembered, or the others are not")
	}
}
