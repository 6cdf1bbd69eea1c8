package queue_test

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar/queue"
)

func TestReceiptRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.Int64Range(0, 1<<62)
		r := queue.Receipt{
			Queue: number.Draw(t, "queue"), Bucket: number.Draw(t, "bucket"),
			Sequence: number.Draw(t, "sequence"), Generation: number.Draw(t, "generation"),
		}
		got, err := queue.ParseReceipt(r.String())
		if err != nil || got != r {
			t.Fatalf("%+v became %+v, %v", r, got, err)
		}
	})
}

func FuzzParseReceipt(f *testing.F) {
	for _, s := range []string{"", "garbage", "AQ", queue.Receipt{Queue: 1, Bucket: 2, Sequence: 3, Generation: 4}.String()} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := queue.ParseReceipt(s)
		if err != nil {
			if !errors.Is(err, queue.ErrReceiptInvalid) || r != (queue.Receipt{}) {
				t.Errorf("ParseReceipt(%q) = %+v, %v", s, r, err)
			}
			return
		}
		if r.String() != s {
			t.Errorf("%q reads as %+v, which is written as %q", s, r, r)
		}
	})
}
