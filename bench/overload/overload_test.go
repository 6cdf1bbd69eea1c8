package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/bench/internal/rig"
	"github.com/bezoar-dev/bezoar/overload"
	"github.com/bezoar-dev/bezoar/policy/shed"
)

// TestMain is the server when the benchmark starts itself.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "-serve" {
		os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

func sample() *Report {
	r := &Report{Workers: 16, ServiceMS: 100, Capacity: 160, Seconds: 10, EmptyUS: 10, Costs: []Cost{{KiB: 16, ServedUS: 300, RefusedUS: 30}}}
	for _, load := range []float64{0.5, 2, 10} {
		bare, pool := Row{Load: load, Goodput: 0.5}, Row{Load: load, Pool: true}
		for tier := range pool.Tally {
			pool.Tally[tier] = Tally{Sent: 400, Served: 400 / (1 + tier*int(load))}
		}
		pool.sum(160, 10*time.Second)
		r.Rows = append(r.Rows, bare, pool)
	}
	return r
}

func TestThePictureIsWellFormed(t *testing.T) {
	svg := sample().SVG()
	for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{
		"prefers-color-scheme:dark", ">offered load, times the capacity<", ">answers in time, % of capacity<",
		">with a pool<", ">without<", ">critical-plus<", ">10×<",
		`class="b" d="M88.8 208.7L163.2 208.7L560.0 208.7"`, // half of the capacity at 0.5, 2 and 10 times of it
	} {
		if !strings.Contains(string(svg), want) {
			t.Errorf("%q is not in the picture", want)
		}
	}
}

func TestNamesDoNotOverlap(t *testing.T) {
	var names []float64
	for range 5 {
		at := free(names, bottom)
		for _, other := range names {
			if d := at - other; d > -17 && d < 17 {
				t.Errorf("names at %g and %g", at, other)
			}
		}
		if names = append(names, at); at > bottom {
			t.Errorf("a name at %g, below the axis", at)
		}
	}
}

func TestTheTableAndTheDocument(t *testing.T) {
	var table, doc strings.Builder
	if err := sample().WriteTable(&table); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"capacity 160.0/s", " 10.0  no        50.0%", "100.00%", "300 µs to serve,  30 µs to refuse, 1/10.0"} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("%q is not in\n%s", want, table.String())
		}
	}
	var back Report
	if err := rig.WriteJSON(&doc, sample()); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(doc.String()), &back); err != nil || len(back.Rows) != 6 || back.Rows[1].Tally[0].Sent != 400 {
		t.Errorf("%v, %+v", err, back)
	}
}

// The real thing, small: a server in a process of its own, callers, a report.
func TestMeasure(t *testing.T) {
	var stdout, stderr bytes.Buffer
	file := t.TempDir() + "/curves.svg"
	code := run(t.Context(), []string{"-loads", "3", "-warm", "0s", "-length", "1s", "-cost", "300ms", "-workers", "4", "-service", "20ms", "-json", "-svg", file}, nil, &stdout, &stderr)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	var r Report
	if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Rows) != 2 || len(r.Costs) != 3 || r.Capacity <= 0 || r.Capacity > 201 || r.Costs[2].ServedUS <= 0 {
		t.Fatalf("measured %+v", r)
	}
	for _, row := range r.Rows {
		sent, served, refused := 0, 0, 0
		for _, tally := range row.Tally {
			if tally.Sent != tally.Served+tally.Refused+tally.GaveUp+tally.Failed {
				t.Errorf("%+v does not add up", tally)
			}
			sent, served, refused = sent+tally.Sent, served+tally.Served, refused+tally.Refused
		}
		if served == 0 || (refused > 0) != row.Pool || float64(sent) < r.Capacity {
			t.Errorf("pool %v: sent %d, served %d, refused %d", row.Pool, sent, served, refused)
		}
	}
	if svg, err := os.ReadFile(file); err != nil || !bytes.HasPrefix(svg, []byte("<svg ")) {
		t.Errorf("the picture: %v, %.20s", err, svg)
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{"-loads", "x"}, {"-loads", "0"}, {"-length", "1ms"}, {"-cost", "1ms"}, {"-workers", "0"}, {"-service", "1h"}, {"-warm", "-1s"}, {"-no-such-flag"}} {
		if code := run(t.Context(), args, nil, io.Discard, io.Discard); code != 2 {
			t.Errorf("%v: exit code %d, want 2", args, code)
		}
	}
	if code := run(t.Context(), []string{"-serve", "tea"}, nil, io.Discard, io.Discard); code != 1 {
		t.Errorf("an unknown server: exit code %d, want 1", code)
	}
}

func TestTheGuardReadsTheHeaders(t *testing.T) {
	pool, err := overload.New(overload.Config{Limit: shed.Config{Fixed: 1}, Queue: overload.Off})
	if err != nil {
		t.Fatal(err)
	}
	s := &server{slots: make(chan struct{}, 1), pool: pool}
	ask := func() *httptest.ResponseRecorder {
		w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), "GET", "/work", nil)
		r.Header.Set(priorityHeader, "SHEDDABLE_PLUS")
		r.Header.Set(timeoutHeader, "1s")
		s.handler().ServeHTTP(w, r)
		return w
	}
	if w := ask(); w.Code != 200 || pool.Stats().InFlight != 0 {
		t.Errorf("answered %d, %d in flight", w.Code, pool.Stats().InFlight)
	}
	pass, _ := pool.Enter(t.Context(), overload.Request{})
	w := ask()
	pool.Leave(pass, shed.Outcome{})
	if w.Code != 503 || w.Header().Get("Retry-After") == "" || pool.Stats().Of(shed.SheddablePlus).Concurrency != 1 {
		t.Errorf("answered %d, %v, %+v", w.Code, w.Header(), pool.Stats().Counts)
	}
}
