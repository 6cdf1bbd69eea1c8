package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/bench/internal/rig"
)

func TestConfigValidate(t *testing.T) {
	good := Config{Postgres: "postgres://h/d", Length: 20 * time.Second, Cut: 20 * time.Second, Rate: 100, Good: 40}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	err := Config{Length: time.Hour, Cut: time.Millisecond}.Validate()
	for _, field := range []string{"postgres", "length", "cut", "rate", "good"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%v does not name %s", err, field)
		}
	}
}

// The table of docs/rate-limits.md: three nodes with 300 requests a second each,
// 3000 a minute, 200 ms. Its round trip is 4 ms, and ours at most 20.
func TestBound(t *testing.T) {
	if over := bound(3000, 300, 3, 1) - 3000; over < 245 || over > 245+2*300*2*0.016+1 {
		t.Errorf("%.1f over the limit", over)
	}
	if got := bound(100, 50, 3, 3); got != 300 {
		t.Errorf("three nodes that do not hear of each other: %.1f, want three times the limit", got)
	}
	if got := alone("bucket", 100, 20); got != 2100 {
		t.Errorf("a bucket in 20 s: %.0f", got)
	}
	if got := alone("window", 100, 20); got != 3000 {
		t.Errorf("a window in 20 s: %.0f", got)
	}
}

func TestReport(t *testing.T) {
	good := count{Sent: 10, Served: 10, ByNode: []int64{4, 3, 3}}
	r := &Report{
		Nodes: 3, Rate: 100, Refused: 20,
		Phases: []Phase{{Name: before, Seconds: 2, Good: good, Quotas: []Quota{{Caller: "bucket", count: count{Sent: 700, Served: 310, Limited: 390, ByNode: []int64{100, 105, 105}}, Limit: 300, Bound: 400}}}},
		Spread: []Spread{{"verdict", before, 41}, {"verdict", before, 60}, {"verdict", mended, 700}},
	}
	if !r.Kept() {
		t.Errorf("not kept: %v", r.Broken())
	}
	var table, document bytes.Buffer
	if err := r.WriteTable(&table); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"10 of 10", "100 105 105", "155.0", "verdict    before      2      60.0      60.0"} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("no %q in\n%s", want, table.String())
		}
	}
	r.Phases[0].Good.Served--
	r.Phases[0].Quotas[0].Served = 401
	r.Spread[0].MS = 101
	r.Let = 1
	if got := r.Broken(); len(got) != 4 {
		t.Errorf("%d broken promises, want 4: %v", len(got), got)
	}
	if err := rig.WriteJSON(&document, r); err != nil {
		t.Fatal(err)
	}
	var back struct {
		Broken []string
		Phases []struct {
			Quotas []struct {
				ByNode []int `json:"served_by_node"`
			}
		}
	}
	if err := json.Unmarshal(document.Bytes(), &back); err != nil || len(back.Broken) != 4 || len(back.Phases[0].Quotas[0].ByNode) != 3 {
		t.Errorf("%v, %+v", err, back)
	}
}

func TestCountLess(t *testing.T) {
	c := &crowd{callers: map[string][]*tally{"x": {new(tally), new(tally)}}}
	c.callers["x"][0].note(200)
	then := c.now("x")
	c.callers["x"][1].note(200)
	c.callers["x"][1].note(429)
	c.callers["x"][1].note(0)
	got := c.now("x").less(then)
	if got.Sent != 3 || got.Served != 1 || got.Limited != 1 || got.Other != 1 || got.ByNode[0] != 0 || got.ByNode[1] != 1 {
		t.Errorf("%+v", got)
	}
}

func TestRelay(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c); c.Close() }()
		}
	}()
	r, err := newRelay("127.0.0.1:0", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", r.ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "hello"); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 5)
	if _, err := io.ReadFull(c, got); err != nil || string(got) != "hello" {
		t.Fatalf("got %q, %v", got, err)
	}
	r.Close() // ends what is in progress, and waits for it
	if _, err := c.Read(got); err == nil {
		t.Error("the connection goes on")
	}
}

// All nodes get the same file, and versions of it differ.
func TestSettings(t *testing.T) {
	c := Config{Rate: 100}
	a, b := string(c.settings("postgres://s/d", "/w", 0)), string(c.settings("postgres://s/d", "/w", 1))
	if a == b || !strings.Contains(a, "rate: 100/s, burst: 100, shared: yes") || !strings.Contains(a, "rate: 1000/10s, shared: yes") {
		t.Errorf("settings:\n%s", a)
	}
}
