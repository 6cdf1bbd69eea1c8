package queue

import (
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/fingerprint"
)

const sample = `{"id":100000000001,"name":"report","args":["one","two",{"three":3}],"at":"2026-11-28T03:00:00Z","trace":{"id":"4bf92f3577b34da6a3ce929d0e0e4736","span":"00f067aa0ba902b7"}}`

func TestRulesFollowTheirQueue(t *testing.T) {
	b, err := newRuleCache(fingerprint.Key{1})
	if err != nil {
		t.Fatal(err)
	}
	q := Queue{ID: 1, Version: 1, Settings: DefaultSettings()}
	q.Settings.Schema = `{"type": "object"}`
	one, err := b.of(&q)
	if err != nil {
		t.Fatal(err)
	}
	same, _ := b.of(&q)
	q.Version, q.Settings.Schema = 2, `{"type": "array"}`
	two, _ := b.of(&q)
	if one.schema == nil || same.schema != one.schema || two.schema == one.schema {
		t.Error("rules are not compiled once for each version")
	}
	for id := range int64(3 * maxRules) {
		q.ID = id
		if _, err := b.of(&q); err != nil {
			t.Fatal(err)
		}
	}
	if len(b.rules) > maxRules {
		t.Errorf("%d rules are kept, want at most %d", len(b.rules), maxRules)
	}
	// Large schemas take a hundred times their length: fewer of them are kept.
	q.Settings.Schema = `{"title": "` + strings.Repeat("x", 60<<10) + `"}`
	for id := range int64(20) {
		q.ID = id
		if _, err := b.of(&q); err != nil {
			t.Fatal(err)
		}
		q.Version++
		if r, err := b.of(&q); err != nil || r.schema == nil {
			t.Fatal(err)
		}
	}
	kept := 0
	for _, r := range b.rules {
		kept += r.text
	}
	if kept != b.schemas || kept > maxSchemas || kept == 0 {
		t.Errorf("schemas of %d bytes are kept, and %d are counted", kept, b.schemas)
	}
	q.Version, q.Settings.Schema = 100, "{" // what an older version took
	if r, err := b.of(&q); err == nil || r.printer == nil || r.admits(&q.Settings, []byte("{}")) != nil {
		t.Errorf("settings that do not compile refuse messages, or nobody says so: %v", err)
	}
}

func BenchmarkPayload(b *testing.B) {
	rules, err := newRuleCache(fingerprint.Key{1})
	if err != nil {
		b.Fatal(err)
	}
	r, err := rules.of(&Queue{})
	if err != nil {
		b.Fatal(err)
	}
	body := []byte(sample)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		r.payload(&Quarantine{}, "", body, nil)
	}
}
