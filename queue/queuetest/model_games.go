package queuetest

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar/internal/test/pace"
)

// games plays random games against one store or, if each has a time of its own,
// one each. A game's number makes its names.
func games(t *testing.T, h Harness, play func(t *rapid.T, r *rig, game string)) {
	pace.Alone(t)
	around, shared := h.Game, (*rig)(nil)
	if around == nil {
		shared = newRig(t, h)
		around = func(t *testing.T, game func(*testing.T)) { game(t) }
	}
	most, n, lost := h.Games, int64(0), false
	checks := flag.Lookup("rapid.checks")
	if os.Getenv("BEZOAR_SOAK") != "" || checks != nil && checks.Value.String() != checks.DefValue {
		most = 0 // as many as are asked for
	}
	rapid.Check(struct{ testing.TB }{t}, func(rt *rapid.T) { // without its deadline, which a bubble has not
		if n++; most > 0 && n > most && !lost {
			return
		}
		defer func() { lost = lost || rt.Failed() }() // then it is played again, to make it shorter
		var thrown any                                // what rapid ends a game by
		around(t, func(t *testing.T) {
			defer func() { thrown = recover() }()
			r := shared
			if r == nil {
				r = newRig(t, h)
			}
			play(rt, r, fmt.Sprint("game", n))
		})
		switch { // in two places, by which rapid tells a lost game from one that came to no end
		case rt.Failed():
			rt.FailNow()
		case thrown != nil:
			panic(thrown)
		}
	})
}

func models() map[string]func(*rapid.T, *rig, string) {
	return map[string]func(*rapid.T, *rig, string){
		"Model": playMessages(false), "ModelFIFO": playMessages(true), "ModelCopies": playCopies(false), "ModelCopiesFIFO": playCopies(true),
		"ModelLetters": playLetters,
	}
}
