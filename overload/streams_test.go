package overload_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/bezoar-dev/bezoar/overload"
	"github.com/bezoar-dev/bezoar/policy/shed"
)

// held wants a pool with so much work and so many streams.
func held(t *testing.T, p *overload.Pool, inFlight, streams int) {
	t.Helper()
	if s := p.Stats(); s.InFlight != inFlight || s.Streams != streams {
		t.Fatalf("%d in flight and %d streams, want %d and %d", s.InFlight, s.Streams, inFlight, streams)
	}
}

// Streams leave their slots to other work, in their turn to who waits.
func TestStreamsGiveTheirSlotsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := fixed(t, 2, overload.Config{Wait: time.Minute})
		one, two := enter(t, p, overload.Request{}), enter(t, p, overload.Request{})
		waits := start(t, p, overload.Request{})
		for range 2 { // once is enough
			if !p.Stream(time.Now(), one) {
				t.Error("there is no room for a stream")
			}
		}
		synctest.Wait()
		if !waits.running() {
			t.Error("who waits does not get the slot of a stream")
		}
		held(t, p, 2, 1)
		p.Leave(one, shed.Outcome{Ignored: true})
		p.Leave(one, shed.Outcome{Ignored: true}) // once too often
		held(t, p, 2, 0)
		if p.Stream(time.Now(), one) {
			t.Error("a pass that was given back became a stream")
		}
		p.Leave(two, shed.Outcome{})
		p.Leave(waits.pass, shed.Outcome{})
		idle(t, p)
	})
}

// An answer that goes on for long counts as a stream: for who comes, and for who
// waits when nothing else happens.
func TestLongAnswersBecomeStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := fixed(t, 3, overload.Config{Queue: overload.Off, Long: time.Second})
		passes := []overload.Pass{enter(t, p, overload.Request{}), enter(t, p, overload.Request{}), enter(t, p, overload.Request{})}
		p.Begun(time.Now(), passes[1])
		time.Sleep(time.Second / 2)
		p.Begun(time.Now(), passes[0])
		p.Begun(time.Now(), passes[1]) // once is enough
		_, r := p.Enter(t.Context(), overload.Request{})
		refused(t, r, overload.RuleConcurrency)
		time.Sleep(time.Second / 2)
		passes = append(passes, enter(t, p, overload.Request{}))
		held(t, p, 3, 1)
		_, r = p.Enter(t.Context(), overload.Request{})
		refused(t, r, overload.RuleConcurrency)
		if err := p.Update(overload.Config{Limit: shed.Config{Fixed: 3}, Wait: time.Second, Long: time.Second}); err != nil {
			t.Fatal(err)
		}
		waits := start(t, p, overload.Request{})
		time.Sleep(time.Second)
		synctest.Wait()
		if !waits.running() {
			t.Errorf("refused with %v, though an answer has become a stream meanwhile", waits.refusal)
		}
		held(t, p, 3, 2)
		for _, pass := range append(passes, waits.pass) {
			p.Leave(pass, shed.Outcome{Ignored: true})
		}
		idle(t, p)
	})
}

// What would be a stream too many keeps its slot, and who asks for one is refused.
func TestStreamsHaveABound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := fixed(t, 10, overload.Config{Streams: 3, PerCaller: 2, Long: time.Second})
		var passes []overload.Pass
		stream := func(caller uint64) bool {
			pass := enter(t, p, overload.Request{Caller: caller})
			passes = append(passes, pass)
			return p.Stream(time.Now(), pass)
		}
		for i, want := range []bool{true, true, false} {
			if stream(1) != want {
				t.Errorf("one caller's stream %d: want %v", i+1, want)
			}
		}
		held(t, p, 1, 2)
		_, r := p.Enter(t.Context(), overload.Request{Caller: 1, Stream: true})
		refused(t, r, overload.RulePerCaller)
		if !stream(2) || stream(3) {
			t.Error("there are not three streams")
		}
		_, r = p.Enter(t.Context(), overload.Request{Caller: 4, Stream: true})
		refused(t, r, overload.RuleStreams)
		late := enter(t, p, overload.Request{Caller: 5})
		p.Begun(time.Now(), late)
		time.Sleep(time.Hour)
		held(t, p, 3, 3) // a long answer is bounded alike
		p.Leave(passes[0], shed.Outcome{Ignored: true})
		time.Sleep(time.Hour)
		held(t, p, 2, 3)
		for _, pass := range append(passes, late) {
			p.Leave(pass, shed.Outcome{Ignored: true})
		}
		idle(t, p)
		if n := p.Stats().Counts[shed.Critical.Tier()]; n.Streams != 1 || n.PerCaller != 1 {
			t.Errorf("refused %+v", n)
		}
	})
	p := fixed(t, 1, overload.Config{Streams: overload.Off})
	if pass := enter(t, p, overload.Request{Stream: true}); p.Stream(time.Now(), pass) {
		t.Error("a stream does not count where streams are other work")
	}
}
