package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestContainedIsTheLastHarm(t *testing.T) {
	first := time.Unix(100, 0)
	at := func(s float64) time.Time { return first.Add(time.Duration(s * float64(time.Second))) }
	for name, c := range map[string]struct {
		lost, harm, end time.Time
		want            int64 // -1: never
	}{
		"no harm":           {end: at(20), want: 0},
		"a worker lost":     {lost: at(0.5), end: at(20), want: 500},
		"a caller later":    {lost: at(0.5), harm: at(2), end: at(20), want: 2000},
		"harm to the end":   {lost: at(19), end: at(20), want: -1},
		"harm before it":    {harm: at(-1), end: at(20), want: 0},
		"in the last third": {harm: at(14), end: at(20), want: -1},
	} {
		got := int64(-1)
		if ms := contained(first, c.lost, c.harm, c.end); ms != nil {
			got = *ms
		}
		if got != c.want {
			t.Errorf("%s: contained after %d ms, want %d", name, got, c.want)
		}
	}
}

// A crowd counts what its callers saw, and sends no request twice although the
// server breaks kept connections.
func TestCrowdCounts(t *testing.T) {
	var served atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		served.Add(1)
		var body bytes.Buffer
		_, _ = body.ReadFrom(r.Body)
		switch {
		case strings.Contains(r.URL.RawQuery, "poison"):
			panic(http.ErrAbortHandler)
		case r.URL.Path == "/report":
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	cfg := Config{Pill: get, Rate: 500, Doses: 10, Length: time.Second}
	c := newCrowd(cfg, server.URL)
	tally, _, err := c.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if tally.sent != 500 || tally.pills != 10 {
		t.Errorf("sent %d good requests and %d pills, want 500 and 10", tally.sent, tally.pills)
	}
	if tally.pillSaid["broken"] != 10 {
		t.Errorf("pills: %v, want 10 broken", tally.pillSaid)
	}
	if tally.refused == 0 || tally.ok+tally.refused != tally.sent || len(tally.others) != 0 {
		t.Errorf("ok %d + refused %d of %d, others %v", tally.ok, tally.refused, tally.sent, tally.others)
	}
	if want := int64(500 + 10 + 500*lead/time.Second); served.Load() != want {
		t.Errorf("the server saw %d requests, want %d", served.Load(), want)
	}
	if len(tally.times) != tally.ok || len(tally.slow) != maxNotes || tally.slow[0].took < tally.slow[maxNotes-1].took {
		t.Errorf("%d times, %d of the slowest", len(tally.times), len(tally.slow))
	}
}

func TestBadFlagsExitWith2(t *testing.T) {
	for _, args := range [][]string{
		{"-rows", "apache"},
		{"-pill", "x"},
		{"-length", "1s"},
		{"-workers", "0"},
		{"-rate", "0"},
		{"-doses", "0"},
		{"-doses", "NaN"},
		{"-nonsense"},
	} {
		var out, errs bytes.Buffer
		if code := run(t.Context(), args, &out, &errs); code != 2 || out.Len() > 0 || errs.Len() == 0 {
			t.Errorf("%v: exit %d, stdout %q, stderr %q", args, code, &out, &errs)
		}
	}
}
