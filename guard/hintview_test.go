package guard_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/guard/cost"
)

// What is remembered of a list or a pattern is what was found the first time,
// also when there was no room for it.
func TestHintsOfPatternsAreRemembered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[ab]{1,2}`)
		set, polled := guard.HintSet{}, guard.HintSet{}
		for range rapid.IntRange(0, 8).Draw(t, "indices") {
			fields := map[string]cost.FieldHint{}
			for range rapid.IntRange(0, 3).Draw(t, "fields") {
				fields[name.Draw(t, "field")] = cost.FieldHint{Cardinality: float64(rapid.IntRange(1, 99).Draw(t, "cardinality"))}
			}
			h := guard.IndexHints{IndexHint: cost.IndexHint{Docs: 50, Shards: 2}, Fields: fields}
			rapid.SampledFrom([]guard.HintSet{set, polled}).Draw(t, "source")[name.Draw(t, "index")] = h
		}
		var used guard.HintStore
		fill := func(s *guard.HintStore) {
			if err := s.Set(guard.Static, set, time.Time{}); err != nil {
				t.Fatal(err)
			}
			if err := s.Set(guard.Polled, polled, time.Time{}); err != nil {
				t.Fatal(err)
			}
		}
		fill(&used)
		for range 60 {
			var fresh guard.HintStore
			fill(&fresh)
			index := rapid.StringMatching(`([ab]?[ab*](,[ab]?[ab*]){0,2})?`).Draw(t, "list")
			field := name.Draw(t, "asked")
			was, known := fresh.Field(index, field)
			if got, ok := used.Field(index, field); got != was || ok != known {
				t.Fatalf("%q %q: %+v %t, at first %+v %t", index, field, got, ok, was, known)
			}
			sum, known := fresh.Index(index)
			if got, ok := used.Index(index); got != sum || ok != known {
				t.Fatalf("%q: %+v %t, at first %+v %t", index, got, ok, sum, known)
			}
		}
	})
}

// A list of megabytes stands for all indices, and costs no more than they do.
func TestLongListsAskForAll(t *testing.T) {
	var s guard.HintStore
	if err := s.Set(guard.Static, guard.HintSet{"big": {IndexHint: cost.IndexHint{Docs: 1e9}, Fields: map[string]cost.FieldHint{"u": {Unique: true}}}}, time.Time{}); err != nil {
		t.Fatal(err)
	}
	list := strings.Repeat("small,", 1000)
	if f, ok := s.Field(list, "u"); !ok || f.Cardinality != 1e9 {
		t.Errorf("%+v %t", f, ok)
	}
	if i, ok := s.Index(list); !ok || i.Docs != 1e9 {
		t.Errorf("%+v %t", i, ok)
	}
	if _, ok := s.Field("small,tiny", "u"); ok {
		t.Error("an index is known that no hint is about")
	}
}

func TestHintsOfPatternsAtOnce(t *testing.T) {
	var s guard.HintStore
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 200 {
				switch {
				case i == 0 && n%20 == 0:
					set := guard.HintSet{"a": {IndexHint: cost.IndexHint{Docs: 1e9}, Fields: map[string]cost.FieldHint{"u": {Cardinality: 7}}}}
					if err := s.Set(guard.Static, set, time.Time{}); err != nil {
						t.Error(err)
					}
				default:
					pattern := fmt.Sprintf("a*,b%d", n%40)
					if f, ok := s.Field(pattern, "u"); ok && f.Cardinality != 7 {
						t.Errorf("%+v", f)
					}
				}
			}
		})
	}
	wg.Wait()
}
