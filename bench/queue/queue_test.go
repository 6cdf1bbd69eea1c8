package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bezoar-dev/bezoar/bench/internal/rig"
)

// Each subject that needs no server carries a load to its end, also when that
// is no multiple of a batch.
func TestSubjectsCarryTheLoad(t *testing.T) {
	e := testEnv(t)
	for _, name := range []string{"bezoar-sqlite", "goqite", "goqite-tx", "river-sqlite"} {
		t.Run(name, func(t *testing.T) {
			s, err := pick(name)
			if err != nil {
				t.Fatal(err)
			}
			got, err := once(t.Context(), e, s[0], Load{Messages: 33, Workers: 3})
			if err != nil {
				t.Fatal(err)
			}
			if got.send <= 0 || got.drain <= 0 || got.total <= 0 || got.total > got.drain {
				t.Errorf("measured %+v", got)
			}
		})
	}
}

func TestPeersWithoutServersAreAbsent(t *testing.T) {
	s, err := pick("river-postgres")
	if err != nil {
		t.Fatal(err)
	}
	c := Config{Subjects: s, Rounds: 2, Messages: 10, Workers: []int{1}}
	all, absent, err := measure(t.Context(), c, testEnv(t), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if r := newReport(c, all, absent); len(r.Throughput) != 0 || len(r.Absent) != 1 {
		t.Errorf("report of what cannot run: %+v", r)
	}
}

func TestDeepQueueIsCompared(t *testing.T) {
	d, err := measureDepth(t.Context(), testEnv(t), bezoarSQLite(), 500, 60, 2, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if d.Empty.P99 <= 0 || d.Deep.P99 < d.Deep.P50 || d.Holds != (d.Ratio <= 2) {
		t.Errorf("measured %+v", d)
	}
	if l := d.Letters; l.Groups != letterGroups || l.Median <= 0 || l.Max < l.Median || l.Holds != (l.Median <= 100) {
		t.Errorf("measured letters %+v", l)
	}
}

func testEnv(t *testing.T) *Env {
	t.Helper()
	e, err := NewEnv(t.TempDir(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// Ratios are of the same round: a slow one for both is none for either.
func TestRatiosAreOfTheSameRound(t *testing.T) {
	rounds := func(name string, totals ...float64) *samples {
		s := &samples{subject: Subject{Name: name}, workers: 1}
		for _, v := range totals {
			s.rounds = append(s.rounds, sample{send: v, drain: v, total: v})
		}
		return s
	}
	ours, peer := rounds("ours", 300, 30, 100), rounds("peer", 100, 10, 100)
	got, ok := compare([]*samples{ours, peer}, Rival{"ours", "peer", 2}, ours)
	holds := true
	want := Ratio{Ours: "ours", Peer: "peer", Workers: 1, Ratio: Spread{Median: 3, Min: 1, Max: 3}, Required: 2, Holds: &holds}
	if diff := cmp.Diff(want, got); !ok || diff != "" {
		t.Errorf("compare() = %v, -want +got:\n%s", ok, diff)
	}
	if _, ok := compare([]*samples{ours, peer}, Rival{"ours", "nobody", 2}, ours); ok {
		t.Error("there is a ratio to who was not measured")
	}
	peer.workers = 16
	if _, ok := compare([]*samples{ours, peer}, Rival{"ours", "peer", 2}, ours); ok {
		t.Error("there is a ratio of different loads")
	}
}

// Only endpoints have a backlog to carry as well.
func TestPlan(t *testing.T) {
	s, err := pick("goqite,goaws")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range (Config{Subjects: s, Messages: 10, Backlog: 99, Workers: []int{1, 16}}).plan() {
		got = append(got, fmt.Sprint(p.subject.Name, " ", p.workers, " ", p.messages))
	}
	want := []string{"goqite 1 10", "goaws 1 10", "goaws 1 99", "goqite 16 10", "goaws 16 10", "goaws 16 99"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSpread(t *testing.T) {
	if diff := cmp.Diff(Spread{Median: 2.5, Min: 1, Max: 9}, spread([]float64{9, 2, 3, 1})); diff != "" {
		t.Error(diff)
	}
}

func TestReportIsWritten(t *testing.T) {
	holds := false
	r := &Report{
		Throughput: []Throughput{{Subject: "ours", Workers: 16, Total: Spread{100, 90, 110}}},
		Ratios: []Ratio{
			{Ours: "ours", Peer: "peer", Workers: 16, Ratio: Spread{1.5, 1, 2}, Required: 2, Holds: &holds},
			{Ours: "ours", Peer: "other", Workers: 16, Ratio: Spread{1.5, 1, 2}},
		},
		Depths: []Depth{{Subject: "ours", Waiting: 1000, Ratio: 1.1, Required: 2, Holds: true}},
		Absent: []Absent{{"asynq", "not run: no redis-server"}},
	}
	var table, doc bytes.Buffer
	if err := errors.Join(r.WriteTable(&table), rig.WriteJSON(&doc, r)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"(90–110)", "≥ 2", "NO", "p99 1.10 times, wanted ≤ 2: yes", "no redis-server"} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, &table)
		}
	}
	var back Report
	if err := json.Unmarshal(doc.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r.Ratios, back.Ratios); diff != "" {
		t.Errorf("the document says otherwise:\n%s", diff)
	}
}

func TestWireSpellsBothProtocols(t *testing.T) {
	value := func(i int) string { return "h=" + string(rune('a'+i)) }
	_, form := newWire("http://x", false).entries(2, "DeleteMessageBatch", "ReceiptHandle", value)
	if want := "&DeleteMessageBatchRequestEntry.2.Id=1&DeleteMessageBatchRequestEntry.2.ReceiptHandle=h%3Db"; !strings.HasSuffix(form, want) {
		t.Errorf("the form is %q, want it to end with %q", form, want)
	}
	object, _ := newWire("http://x", true).entries(2, "DeleteMessageBatch", "ReceiptHandle", value)
	if !json.Valid([]byte(object + "}")) {
		t.Errorf("%s} is no JSON", object)
	}
}

func TestWireFindsHandles(t *testing.T) {
	for _, c := range []struct {
		name, answer string
		json         bool
		want         []string
	}{
		{"none", "<ReceiveMessageResult/>", false, nil},
		{"XML", "<Message><ReceiptHandle>a</ReceiptHandle></Message><Message><ReceiptHandle>b</ReceiptHandle></Message>", false, []string{"a", "b"}},
		{"JSON", `{"Messages":[{"ReceiptHandle":"a"},{"ReceiptHandle":"b"}]}`, true, []string{"a", "b"}},
		{"cut short", `{"Messages":[{"ReceiptHandle":"a`, true, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, newWire("", c.json).handles([]byte(c.answer))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestBodies(t *testing.T) {
	var b bodies
	one, two := b.next(), b.next()
	if one == two || len(one) != bodyBytes || len(two) != bodyBytes {
		t.Errorf("%q and %q are not two of %d bytes", one, two, bodyBytes)
	}
}

func TestDrainSaysWhatIsMissing(t *testing.T) {
	left := 7
	err := drain(t.Context(), Load{Messages: 10, Workers: 1}, func(context.Context) (int, error) {
		if left == 0 {
			return 0, nil
		}
		left--
		return 1, nil
	})
	if err == nil || !strings.Contains(err.Error(), "7 messages of 10") {
		t.Errorf("drain() = %v", err)
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{
		{"-rounds", "0"}, {"-messages", "1"}, {"-workers", "x"}, {"-workers", "100"}, {"-only", "sqs"}, {"-waiting", "-1"}, {"-what"},
	} {
		var said bytes.Buffer
		if code := run(t.Context(), args, io.Discard, &said); code != 2 || said.Len() == 0 {
			t.Errorf("run(%q) = %d, said %q", args, code, &said)
		}
	}
}
