package ledgertest

import (
	"cmp"
	"errors"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
	"github.com/bezoar-dev/bezoar/internal/test/pace"
	"github.com/bezoar-dev/bezoar/internal/test/suite"
)

// model is the contract in the simplest form: slices, no indexes.
type model struct {
	bound    int
	verdicts []bezoar.Verdict
	letters  []bezoar.Letter
}

func (m *model) putVerdict(v bezoar.Verdict) {
	m.deleteVerdict(v.ID)
	m.verdicts = append(m.verdicts, v)
}

func (m *model) deleteVerdict(id string) (found bool) {
	n := len(m.verdicts)
	m.verdicts = slices.DeleteFunc(m.verdicts, func(v bezoar.Verdict) bool { return v.ID == id })
	return len(m.verdicts) < n
}

func (m *model) listVerdicts(fleet string) []bezoar.Verdict {
	var list []bezoar.Verdict
	for _, v := range m.verdicts {
		if fleet == "" || v.Fleet == fleet {
			list = append(list, v)
		}
	}
	slices.SortFunc(list, func(a, b bezoar.Verdict) int {
		return cmp.Or(a.Since.Compare(b.Since), strings.Compare(a.ID, b.ID))
	})
	return list
}

// putLetter returns false if l.ID belongs to a letter of other work.
func (m *model) putLetter(l bezoar.Letter) (stored bezoar.Letter, ok bool) {
	for i := range m.letters {
		old := &m.letters[i]
		if old.Fleet == l.Fleet && old.Key() == l.Key() {
			old.Copies += l.Copies
			old.Last, old.Verdict, old.Class, old.Reason, old.Evidence = l.Last, l.Verdict, l.Class, l.Reason, l.Evidence
			return *old, true
		}
	}
	if _, taken := m.letter(l.ID); taken {
		return l, false
	}
	if len(m.letters) == m.bound {
		list := m.listLetters(ledger.LetterQuery{Limit: 1000})
		m.deleteLetter(list[len(list)-1].ID)
	}
	m.letters = append(m.letters, l)
	return l, true
}

func (m *model) letter(id string) (bezoar.Letter, bool) {
	for _, l := range m.letters {
		if l.ID == id {
			return l, true
		}
	}
	return bezoar.Letter{}, false
}

func (m *model) deleteLetter(id string) (found bool) {
	n := len(m.letters)
	m.letters = slices.DeleteFunc(m.letters, func(l bezoar.Letter) bool { return l.ID == id })
	return len(m.letters) < n
}

func (m *model) listLetters(q ledger.LetterQuery) []bezoar.Letter {
	var list []bezoar.Letter
	for _, l := range m.letters {
		if (q.Fleet == "" || q.Fleet == l.Fleet) && (q.Fingerprint.IsZero() || q.Fingerprint == l.Fingerprint) &&
			(q.Key.IsZero() || q.Key == l.Key()) {
			l.Request.Body = nil
			list = append(list, l)
		}
	}
	slices.SortFunc(list, func(a, b bezoar.Letter) int {
		return cmp.Or(b.Last.Compare(a.Last), strings.Compare(a.ID, b.ID))
	})
	list = list[min(q.Offset, len(list)):]
	return list[:min(cmp.Or(q.Limit, 100), len(list))]
}

// draws are deliberately few, so that ids, works and times collide.
type draws struct {
	fleets, someFleet, verdictIDs, letterIDs, text *rapid.Generator[string]
	works, variants                                *rapid.Generator[bezoar.Fingerprint]
	class                                          *rapid.Generator[bezoar.Class]
	second                                         *rapid.Generator[int]
}

func newDraws() draws {
	bytes := func(b []byte) string { return string(b) }
	return draws{
		fleets:     rapid.SampledFrom([]string{"", "search", "reports"}),
		someFleet:  rapid.SampledFrom([]string{"search", "reports"}),
		verdictIDs: rapid.SampledFrom([]string{"q-1", "q-2", "q-3", "q-4"}),
		letterIDs:  rapid.SampledFrom([]string{"dl-1", "dl-2", "dl-3", "dl-4", "dl-5", "dl-6"}),
		text:       rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 20), bytes)),
		works:      rapid.Map(rapid.ByteRange(1, 4), mark),
		variants:   rapid.SampledFrom([]bezoar.Fingerprint{{}, mark(11), mark(12)}),
		class: rapid.Map(rapid.Uint8Range(0, uint8(bezoar.SpawnFailed)), func(n uint8) bezoar.Class {
			return bezoar.Class(n)
		}),
		second: rapid.IntRange(0, 5),
	}
}

func (d draws) evidence(t *rapid.T) []bezoar.Evidence {
	list := make([]bezoar.Evidence, rapid.IntRange(0, 2).Draw(t, "evidence"))
	for i := range list {
		list[i] = bezoar.Evidence{
			Worker: d.text.Draw(t, "worker"), At: after(d.second.Draw(t, "at")), Class: d.class.Draw(t, "class"),
			Epoch: rapid.Uint64().Draw(t, "epoch"), Share: rapid.Float64Range(0, 1).Draw(t, "share"),
			Stderr: rapid.SliceOfN(d.text, 0, 2).Draw(t, "stderr"),
		}
	}
	return list
}

func (d draws) verdict(t *rapid.T) bezoar.Verdict {
	return bezoar.Verdict{
		ID: d.verdictIDs.Draw(t, "id"), Fleet: d.someFleet.Draw(t, "fleet"), Fingerprint: d.works.Draw(t, "work"),
		Since: after(d.second.Draw(t, "since")), Until: after(d.second.Draw(t, "until")), Reason: d.text.Draw(t, "reason"),
		Score: rapid.Float64Range(-1e9, 1e9).Draw(t, "score"), Refused: rapid.Int64().Draw(t, "refused"),
		Cause: d.class.Draw(t, "cause"), Evidence: d.evidence(t),
	}
}

func (d draws) letter(t *rapid.T) bezoar.Letter {
	work, variant := d.works.Draw(t, "work"), d.variants.Draw(t, "variant")
	if !variant.IsZero() {
		variant[1] = work[0] // a variant is of one work
	}
	return bezoar.Letter{
		ID: d.letterIDs.Draw(t, "id"), Fleet: d.someFleet.Draw(t, "fleet"), Fingerprint: work, Variant: variant,
		First: after(d.second.Draw(t, "first")), Last: after(d.second.Draw(t, "last")),
		Copies: rapid.Int64Range(0, 1e6).Draw(t, "copies"),
		Reason: d.text.Draw(t, "reason"), Class: d.class.Draw(t, "class"), Evidence: d.evidence(t),
		Request: bezoar.Request{
			Target: d.text.Draw(t, "target"), Body: rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "body"),
			Header: rapid.MapOfN(d.text, rapid.SliceOfN(d.text, 0, 2), 0, 2).Draw(t, "header"),
		},
	}
}

// testModel makes random calls to the store and to the model.
func testModel(t *testing.T, h Harness) {
	pace.Alone(t)
	s := h.Open(t, modelBound)
	most, n, lost := h.Games, 0, false
	checks := flag.Lookup("rapid.checks")
	if os.Getenv("BEZOAR_SOAK") != "" || checks != nil && checks.Value.String() != checks.DefValue {
		most = 0
	}
	rapid.Check(t, func(rt *rapid.T) {
		if n++; most > 0 && n > most && !lost {
			return
		}
		defer func() { lost = lost || rt.Failed() }() // then rapid plays it again to shorten it
		if err := empty(t.Context(), s); err != nil {
			rt.Fatal(err)
		}
		p := &pair{draws: newDraws(), store: s, model: model{bound: modelBound}}
		rt.Repeat(map[string]func(*rapid.T){
			"PutVerdict":    p.putVerdict,
			"DeleteVerdict": p.deleteVerdict,
			"PutLetter":     p.putLetter,
			"PutLetter too": p.putLetter, // twice as often: it is where the rules are
			"DeleteLetter":  p.deleteLetter,
			"Verdicts":      p.verdicts,
			"Letters":       p.letters,
			"Letter":        p.letter,
		})
		p.checkAll(rt)
	})
}

const modelBound = 4

// pair is a store and its model.
type pair struct {
	draws
	store ledger.Store
	model model
}

func (p *pair) putVerdict(t *rapid.T) {
	v := p.verdict(t)
	suite.Must(t, p.store.PutVerdict(t.Context(), v))
	p.model.putVerdict(v)
}

func (p *pair) deleteVerdict(t *rapid.T) {
	id := p.verdictIDs.Draw(t, "id")
	wantFound(t, p.store.DeleteVerdict(t.Context(), id), p.model.deleteVerdict(id))
}

func (p *pair) putLetter(t *rapid.T) {
	l := p.draws.letter(t)
	want, ok := p.model.putLetter(l)
	got, err := p.store.PutLetter(t.Context(), l)
	suite.FatalIf(t, ok != (err == nil), "PutLetter(%s) = %v, want success: %v", l.ID, err, ok)
	if ok {
		same(t, "PutLetter", want, got)
	}
}

func (p *pair) deleteLetter(t *rapid.T) {
	id := p.letterIDs.Draw(t, "id")
	wantFound(t, p.store.DeleteLetter(t.Context(), id), p.model.deleteLetter(id))
}

func (p *pair) letters(t *rapid.T) {
	q := ledger.LetterQuery{
		Fleet: p.fleets.Draw(t, "fleet"), Limit: rapid.IntRange(0, 3).Draw(t, "limit"), Offset: rapid.IntRange(0, 3).Draw(t, "offset"),
	}
	if rapid.Bool().Draw(t, "of one work") {
		q.Fingerprint = p.works.Draw(t, "work")
	}
	if rapid.Bool().Draw(t, "of one key") {
		l := p.draws.letter(t)
		q.Key = l.Key()
	}
	got, err := p.store.Letters(t.Context(), q)
	suite.Must(t, err)
	same(t, "Letters", p.model.listLetters(q), got)
}

func (p *pair) verdicts(t *rapid.T) { p.checkVerdicts(t, p.fleets.Draw(t, "fleet")) }

func (p *pair) letter(t *rapid.T) { p.checkLetter(t, p.letterIDs.Draw(t, "id")) }

// checkAll compares everything that both hold.
func (p *pair) checkAll(t *rapid.T) {
	p.checkVerdicts(t, "")
	for _, l := range p.model.letters {
		p.checkLetter(t, l.ID)
	}
	got, err := p.store.Letters(t.Context(), ledger.LetterQuery{})
	suite.Must(t, err)
	same(t, "Letters", p.model.listLetters(ledger.LetterQuery{}), got)
}

func (p *pair) checkVerdicts(t *rapid.T, fleet string) {
	got, err := p.store.Verdicts(t.Context(), fleet)
	suite.Must(t, err)
	same(t, "Verdicts", p.model.listVerdicts(fleet), got)
}

func (p *pair) checkLetter(t *rapid.T, id string) {
	want, ok := p.model.letter(id)
	got, err := p.store.Letter(t.Context(), id)
	wantFound(t, err, ok)
	same(t, "Letter", want, got)
}

func wantFound(t *rapid.T, err error, found bool) {
	t.Helper()
	suite.FatalIf(t, found && err != nil || !found && !errors.Is(err, ledger.ErrNotFound), "error = %v, want it found: %v", err, found)
}

func same(t *rapid.T, what string, want, got any) {
	t.Helper()
	if diff := diff(want, got); diff != "" {
		t.Fatalf("%s (-want +got)\n%s", what, diff)
	}
}
