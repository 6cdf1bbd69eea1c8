package main

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// The workers' own lines say who was lost: neither who lives, nor who was told to
// end.
func TestLivesAreBalanced(t *testing.T) {
	text := "start 10 good\nstart 11 good\npill 10 good\nstart 12 good\ntold 11 good\nstart 13 bad\nstart 14 good\n"
	b, err := tallyLives([]byte(text), func(pid string) bool { return pid == "12" || pid == "13" })
	if err != nil {
		t.Fatal(err)
	}
	if b.started != 5 || b.pills != 1 || b.told != 1 || b.lost != 2 || b.alive["good"] != 1 || b.alive["bad"] != 1 {
		t.Errorf("balance %+v, want 5 started, 1 by a pill, 1 told, 2 lost, 1 good and 1 bad alive", b)
	}
	if _, err := tallyLives([]byte("start 10\n"), living); err == nil {
		t.Error("a line without a build has no error")
	}
}

func TestBounds(t *testing.T) {
	clean := func() *Run {
		return &Run{
			Lost: 4, count: count{Sent: 100, OK: 100, Slowest: 900},
			Classes:  map[string]*count{"target": {Sent: 10, OK: 10, Slowest: 90}},
			Evidence: &Findings{}, LastPills: map[string]int{"503 quarantine": 3},
		}
	}
	all := bound{deaths: 4, good: 100, target: 100, slowest: time.Second, contained: true, refused: true}
	for name, c := range map[string]struct {
		change func(*Run)
		bound  bound
		want   int // parts missed
	}{
		"met":                        {func(*Run) {}, all, 0},
		"one death more":             {func(r *Run) { r.Lost = 5 }, all, 1},
		"deaths without a bound":     {func(r *Run) { r.Lost = 500 }, bound{deaths: noBound}, 0},
		"one innocent less":          {func(r *Run) { r.OK = 99 }, all, 1},
		"one that was cut":           {func(r *Run) { r.OK, r.Cut = 99, 1 }, all, 0},
		"more cut than deaths":       {func(r *Run) { r.OK, r.Cut = 95, 5 }, all, 1},
		"99 % with one cut":          {func(r *Run) { r.OK, r.Cut = 99, 1 }, bound{deaths: noBound, good: 99}, 0},
		"99 % with two cut":          {func(r *Run) { r.OK, r.Cut = 98, 2 }, bound{deaths: noBound, good: 99}, 1},
		"a target not answered":      {func(r *Run) { r.Classes["target"].OK = 9 }, all, 1},
		"no target at all":           {func(r *Run) { r.Classes = nil }, all, 1},
		"too slow":                   {func(r *Run) { r.Slowest = 1000 }, all, 1},
		"a wrong conviction":         {func(r *Run) { r.Evidence.Wrong = []string{"x"} }, all, 1},
		"a late pill, answered":      {func(r *Run) { r.LastPills["200"] = 1 }, all, 2},
		"a late pill that killed":    {func(r *Run) { r.LastPills["502 failed"] = 1 }, all, 1},
		"a late pill that waits":     {func(r *Run) { r.LastPills["429 pace"] = 1 }, all, 0},
		"what is particular":         {func(r *Run) { r.Faults = []string{"x"} }, all, 1},
		"nobody asked for anything":  {func(r *Run) { r.count = count{} }, all, 1},
		"another proxy has no files": {func(r *Run) { r.Evidence = nil }, all, 0},
	} {
		r := clean()
		c.change(r)
		if missed := c.bound.missed(r); len(missed) != c.want {
			t.Errorf("%s: missed %q, want %d parts", name, missed, c.want)
		}
	}
}

func TestTheWorstRunCounts(t *testing.T) {
	runs := []*Run{
		{GoodPercent: 99, Lost: 9},
		{GoodPercent: 100, Missed: []string{"x"}},
		{GoodPercent: 98},
	}
	if w := worst(runs); w != runs[1] {
		t.Errorf("the worst run is %+v, want the one that missed its bound", w)
	}
	runs[1].Missed = nil
	if w := worst(runs); w != runs[2] {
		t.Errorf("the worst run is %+v, want the one that answered fewest", w)
	}
	runs[2].GoodPercent = 99
	if w := worst(runs); w != runs[0] {
		t.Errorf("the worst run is %+v, want the one that lost most", w)
	}
}

func TestConvictionsAreJudged(t *testing.T) {
	ta := newTally()
	w := newWorld(1, false)
	good, evil := get(w.innocents[0], "get", "/a"), w.pill(get(nil, "", "/b"))
	both := w.pill(get(nil, "", "/a"))
	for _, s := range []shot{good, evil, both} {
		ta.begun(&s)
	}
	ta.byWhich["q-3"] = 7
	for name, c := range map[string]struct {
		v      verdict
		sender origin
		right  bool
	}{
		"the attacker's":                  {verdict{ID: "q-1", Sample: "GET /b"}, unknown, true},
		"an innocent's by its id":         {verdict{ID: "q-1", Sample: "GET /a"}, innocent, false},
		"the attacker's by its id":        {verdict{ID: "q-1", Sample: "GET /a"}, attacker, true},
		"nobody's":                        {verdict{ID: "q-2", Sample: "GET /c", Scope: "work"}, unknown, false},
		"a shape":                         {verdict{ID: "q-2", Scope: "shape"}, unknown, false},
		"a caller":                        {verdict{ID: "q-2", Scope: "client"}, unknown, true},
		"a caller, with innocents":        {verdict{ID: "q-3", Scope: "client"}, unknown, false},
		"the attacker's, but too wide":    {verdict{ID: "q-3", Sample: "GET /b"}, attacker, false},
		"both ask, nobody is known by id": {verdict{ID: "q-4", Sample: "GET /a"}, unknown, true}, // a copy is sent
	} {
		if why := ta.accuse(&c.v, c.sender); (why == "") != c.right {
			t.Errorf("%s: %q", name, why)
		}
	}
}

// A crowd counts what its callers saw since the begin, and knows whose each
// request was.
func TestCrowdCounts(t *testing.T) {
	var served atomic.Int64
	var mu sync.Mutex
	froms := map[string]bool{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		served.Add(1)
		_, _ = io.Copy(io.Discard, r.Body)
		from, _, _ := strings.Cut(r.RemoteAddr, ":")
		mu.Lock()
		froms[from] = true
		mu.Unlock()
		switch {
		case strings.Contains(r.Header.Get("X-Theme"), "neon"):
			panic(http.ErrAbortHandler)
		case r.URL.Path == "/cart":
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, `{"type":"urn:bezoar:problem:quarantined","rule":"quarantine","id":"q-1"}`)
		case r.URL.Path == "/orders":
			w.WriteHeader(http.StatusBadGateway)
		}
	}))
	defer server.Close()
	picked, _ := chosen([]string{"header"})
	cfg := Config{Rate: 200, Length: 2 * time.Second, Callers: byIP}
	s := newScene(cfg, picked[0], server.Listener.Addr().String())
	defer s.crowd.close()
	if err := s.play(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	r := newRun("test", s.tally)
	if want := 200*2 + 1*2; r.Sent != want || r.Pills != 4 {
		t.Errorf("%d innocents and %d pills, want %d and 4", r.Sent, r.Pills, want)
	}
	refused := r.Refused["503 quarantine"]
	if refused == 0 || r.Cut == 0 || r.OK+refused+r.Cut != r.Sent || s.tally.byWhich["q-1"] != refused {
		t.Errorf("%d ok, refused %v, %d cut of %d; by verdict %v", r.OK, r.Refused, r.Cut, r.Sent, s.tally.byWhich)
	}
	if r.GetPercent != 100 || r.PostPercent != 0 || r.PillsSaid["broken"] == 0 {
		t.Errorf("GET %g %%, POST %g %%, pills %v", r.GetPercent, r.PostPercent, r.PillsSaid)
	}
	if all := int64(200*5 + 5 + 4); served.Load() != all || int64(len(s.tally.ids)) != all {
		t.Errorf("served %d and knows %d, want %d", served.Load(), len(s.tally.ids), all)
	}
	if len(froms) != 2 || !froms["127.0.0.1"] || !froms["127.0.0.66"] {
		t.Errorf("requests came from %v", froms)
	}
}

// Innocents send no poison, and every pill does.
func TestOnlyPillsArePoisonous(t *testing.T) {
	w := newWorld(7, false)
	r := rand.New(rand.NewPCG(3, 4))
	check := func(name string, s shot, want bool) {
		target, err := url.PathUnescape(s.target)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		text := target + s.body + s.who.theme + s.who.cookie
		for _, f := range s.header {
			text += f[1]
		}
		if got := strings.Contains(text, neon); got != want || s.pill != want {
			t.Errorf("%s: %s %s %v: poison %v, pill %v; want %v", name, s.line(), s.body, s.header, got, s.pill, want)
		}
	}
	for _, row := range rows() {
		if row.good != nil {
			check(row.name, row.good(w, 1, r), false)
		}
		if row.also != nil {
			for _, s := range row.also(w) {
				check(row.name, s.make(1, r), false)
			}
		}
		if row.evil != nil {
			for _, s := range row.evil(w) {
				check(row.name, s.make(1, r), true)
			}
		}
	}
	for n := range 1000 {
		check("mix", w.mix(n, r), false)
	}
}

func TestGroupsNameTheirRows(t *testing.T) {
	names := func(want ...string) []string {
		picked, bad := chosen(want)
		var out []string
		for _, r := range picked {
			out = append(out, r.name)
		}
		return append(out, bad...)
	}
	if got := names("post-unique", "header", "no-such"); !slices.Equal(got, []string{"header", "post-unique-2", "post-unique-10", "no-such"}) {
		t.Errorf("chosen = %q", got)
	}
}

func TestBadFlagsExitWith2(t *testing.T) {
	for _, args := range [][]string{
		{"-rows", "apache"},
		{"-rows", ""},
		{"-for", "1s"},
		{"-workers", "0"},
		{"-lang", "cobol"},
		{"-callers", "name"},
		{"-rate", "0"},
		{"-runs", "0"},
		{"-nonsense"},
	} {
		var out, errs bytes.Buffer
		if code := run(t.Context(), args, &out, &errs); code != 2 || out.Len() > 0 || errs.Len() == 0 {
			t.Errorf("%v: exit %d, stdout %q, stderr %q", args, code, &out, &errs)
		}
	}
}
