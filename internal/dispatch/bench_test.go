package dispatch_test

import (
	"context"
	"encoding/binary"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

// instant answers at once.
type instant struct{}

func (instant) Connect(context.Context, *dispatch.Target) error { return nil }
func (instant) Drop()                                           {}
func (instant) Gone() bool                                      { return false }
func (instant) Sample() string                                  { return "" }
func (instant) Keep() bezoar.Request                            { return bezoar.Request{} }
func (instant) Send(_ context.Context, t *dispatch.Target) dispatch.Result {
	t.Begun(time.Now())
	return dispatch.Result{Status: 200}
}

func benchDispatcher(b *testing.B) *dispatch.Dispatcher {
	b.Helper()
	l, err := ledger.New(ledger.Config{Fleet: "bench", Blame: blame.Config{}})
	if err != nil {
		b.Fatal(err)
	}
	f, err := fleet.New(fleet.Config{Name: "bench", Opened: func(e uint64, _ string) { l.Opened(e) }})
	if err != nil {
		b.Fatal(err)
	}
	for _, w := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		f.Up(w, "127.0.0.1:1")
	}
	d, err := dispatch.New(dispatch.Config{Fleet: f, Ledger: l})
	if err != nil {
		b.Fatal(err)
	}
	return d
}

// The whole path of one piece of work but for hashing and the wire: worker,
// admit, attempt, judge. DESIGN asks for no allocation and less than 1 µs.
func BenchmarkDo(b *testing.B) {
	for _, bc := range []struct {
		name   string
		unique bool
	}{{"proven", false}, {"unproven", true}} {
		b.Run(bc.name, func(b *testing.B) {
			d := benchDispatcher(b)
			w := dispatch.Work{Fingerprint: bezoar.Fingerprint{1}, Shape: bezoar.Fingerprint{2}, Replayable: true}
			ctx := context.Background()
			n := uint64(0)
			b.ReportAllocs()
			for b.Loop() {
				if bc.unique {
					n++
					binary.LittleEndian.PutUint64(w.Fingerprint[:], n*0x9e3779b97f4a7c15)
				}
				d.Do(ctx, w, instant{})
			}
		})
	}
}
