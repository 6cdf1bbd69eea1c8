package ledger_test

import (
	"encoding/binary"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

// unique is the n-th payload of a shape that is held by order.
func unique(n uint32) blame.Work {
	w := blame.Work{Shape: work(1).Shape}
	binary.LittleEndian.PutUint32(w.Fingerprint[:], n)
	w.Fingerprint[15] = 9
	return w
}

func letters(t *testing.T, st ledger.Store) []bezoar.Letter {
	t.Helper()
	ls, err := st.Letters(t.Context(), ledger.LetterQuery{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return ls
}

// A flood of unique pills does not become a flood of writes.
func TestNewLettersAreBoundedPerSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStore(t)
		b := open(t, st, nil)
		if _, err := b.Quarantine(t.Context(), ledger.Order{Work: blame.Work{Shape: work(1).Shape}, For: time.Hour}); err != nil {
			t.Fatal(err)
		}
		n := uint32(0)
		for second := 1; second <= 3; second++ {
			for range 500 {
				n++
				if !b.refused(unique(n)) {
					t.Fatal("not refused")
				}
			}
			time.Sleep(time.Second) // of the bubble's time
			synctest.Wait()
			if got := len(letters(t, st)); got != 100*second {
				t.Errorf("%d letters after %d seconds of 500 each, want %d", got, second, 100*second)
			}
		}
		// A copy of what is known is counted, however many there are.
		for range 500 {
			b.refused(unique(1))
		}
		time.Sleep(time.Second)
		synctest.Wait()
		ls, err := st.Letters(t.Context(), ledger.LetterQuery{Fingerprint: unique(1).Fingerprint})
		if err != nil || len(ls) != 1 || ls[0].Copies != 501 {
			t.Errorf("letters %+v, %v", ls, err)
		}
	})
}

// Copies that are counted for a letter that is gone do not make an empty one.
func TestADiscardedLetterIsWrittenAnewFromTheNextCopy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStore(t)
		b := open(t, st, nil)
		b.kill(work(1))
		b.kill(work(1))
		b.refused(work(1))
		if err := st.DeleteLetter(t.Context(), letters(t, st)[0].ID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(1500 * time.Millisecond) // of the bubble's time: a flush
		synctest.Wait()
		if ls := letters(t, st); len(ls) != 0 {
			t.Fatalf("letters %+v", ls)
		}
		b.refused(work(1))
		time.Sleep(1500 * time.Millisecond)
		synctest.Wait()
		if ls := letters(t, st); len(ls) != 1 || ls[0].Copies != 1 || ls[0].Request.Target != "/1" {
			t.Errorf("letters %+v", ls)
		}
	})
}

// Letters wait for a store that fails, and copies are counted meanwhile.
func TestLettersWaitForTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStore(t)
		b := open(t, st, nil)
		st.fail.Store(true)
		b.kill(work(1))
		b.kill(work(1))
		for range 10 {
			b.refused(work(1))
			time.Sleep(time.Second) // of the bubble's time
		}
		st.fail.Store(false)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if ls := letters(t, st); len(ls) != 1 || ls[0].Copies != 11 || ls[0].Request.Target != "/1" {
			t.Errorf("letters %+v", ls)
		}
	})
}
