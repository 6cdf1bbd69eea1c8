//go:build !race

package queue

import (
	"testing"

	"github.com/bezoar-dev/bezoar/fingerprint"
)

// The race detector makes pools forget, so that this holds without it alone.

// Every message that is sent is recognised: that must cost nothing but hashing.
func TestPayloadsAllocateNothing(t *testing.T) {
	b, err := newRuleCache(fingerprint.Key{1})
	if err != nil {
		t.Fatal(err)
	}
	q := Queue{ID: 1, Version: 1, Settings: DefaultSettings()}
	r, err := b.of(&q)
	if err != nil {
		t.Fatal(err)
	}
	body := []byte(sample)
	if n := testing.AllocsPerRun(1000, func() { _ = r.payload(&q.Settings.Quarantine, "", body, nil) }); n != 0 {
		t.Errorf("a payload takes %v allocations, want none", n)
	}
}
