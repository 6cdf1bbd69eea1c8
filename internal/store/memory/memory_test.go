package memory_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger/ledgertest"
	"github.com/bezoar-dev/bezoar/internal/store/memory"
)

func TestLedger(t *testing.T) {
	ledgertest.Run(t, ledgertest.Harness{
		Open: func(t *testing.T, maxLetters int) ledger.Store {
			db, err := memory.Open(memory.Config{MaxLetters: maxLetters})
			if err != nil {
				t.Fatal(err)
			}
			return db.Ledger()
		},
	})
}

func TestConfigNamesItsFault(t *testing.T) {
	if _, err := memory.Open(memory.Config{MaxLetters: -1}); err == nil || !strings.Contains(err.Error(), "MaxLetters") {
		t.Errorf("Open = %v, want a fault of MaxLetters", err)
	}
}

func BenchmarkPutLetterEvicting(b *testing.B) {
	db, err := memory.Open(memory.Config{})
	if err != nil {
		b.Fatal(err)
	}
	s, n := db.Ledger(), 0
	for b.Loop() {
		n++
		l := bezoar.Letter{ID: fmt.Sprint(n), Fingerprint: bezoar.Fingerprint{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24), 1}, Last: time.UnixMicro(int64(n))}
		if _, err := s.PutLetter(b.Context(), l); err != nil {
			b.Fatal(err)
		}
	}
}
