package admission

import (
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/circuit"
	"github.com/bezoar-dev/bezoar/policy/breaker"
)

// TestSlowAnswersOpenTheCircuit: also when every caller gives up before them.
func TestSlowAnswersOpenTheCircuit(t *testing.T) {
	all, err := circuit.New(circuit.Config{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := all.Breaker("b", breaker.Config{MinVolume: 3, SlowRatio: 0.9, Open: time.Hour, MaxOpen: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		var s Admission
		if no := s.Admit(t.Context(), &Policy{breaker: b, slow: time.Second}, new(ClientCache), from("192.0.2.1"), Request{Now: time.Now()}); no != nil {
			t.Fatal(no)
		}
		s.Began, s.Outcome = time.Now(), Outcome{Ignored: true}
		s.Release(s.Began.Add(2 * time.Second))
	}
	if s := all.List()[0].State; s != breaker.Open {
		t.Errorf("the circuit is %v", s)
	}
}
