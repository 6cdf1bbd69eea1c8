package facts

import (
	"encoding/json"
	"fmt"
	"iter"
	"strings"
)

// Tx is one transaction, or one View.
type Tx struct {
	s        *Store
	readOnly bool
	changed  map[string]json.RawMessage // nil: dropped
}

// Get decodes a fact into v. It reports whether the fact exists.
func (t *Tx) Get(key string, v any) (bool, error) {
	fact, ok := t.changed[key]
	if !ok {
		fact = t.s.fact(key)
	}
	if fact == nil {
		return false, nil
	}
	if err := json.Unmarshal(fact, v); err != nil {
		return false, fmt.Errorf("decode fact %.100q: %w", key, err)
	}
	return true, nil
}

func (t *Tx) Put(key string, v any) error {
	if t.readOnly || key == "" || len(key) > maxKey {
		return fmt.Errorf("put %.100q into the fact store: the key is invalid, or the transaction cannot write", key)
	}
	fact, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("put %.100q into the fact store: %w", key, err)
	}
	if len(fact) > MaxFact {
		return fmt.Errorf("put %.100q into the fact store: it has %d bytes, more than %d", key, len(fact), MaxFact)
	}
	if t.s.fact(key) == nil && t.s.count()+len(t.changed) >= MaxFacts {
		return fmt.Errorf("put %.100q: %w", key, ErrFull)
	}
	t.changed[key] = fact
	return nil
}

func (t *Tx) Drop(key string) {
	if t.s.fact(key) != nil && !t.readOnly {
		t.changed[key] = nil
	} else {
		delete(t.changed, key)
	}
}

// Len returns the number of facts at the beginning of the transaction.
func (t *Tx) Len() int { return t.s.count() }

// All lists the facts whose keys begin with prefix, as they were at the beginning of the transaction, in random order.
func (t *Tx) All(prefix string) iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		for key, fact := range t.s.known() {
			if strings.HasPrefix(key, prefix) && !yield(key, fact) {
				return
			}
		}
	}
}

func (t *Tx) Has(key string) bool {
	if fact, ok := t.changed[key]; ok {
		return fact != nil
	}
	return t.s.fact(key) != nil
}
