package sift_test

import (
	"context"
	"fmt"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/sift"
)

// A thousand rows, of which one breaks whatever works on it.
func ExampleRun() {
	load := func(b sift.Batch) error {
		for _, s := range b.Spans() {
			if s.From <= 613 && 613 < s.To {
				return fmt.Errorf("row 614 has no quantity")
			}
		}
		return nil
	}
	done := 0
	summary, err := sift.Run(context.Background(), sift.Config{
		Rows: 1000,
		Run: func(_ context.Context, b sift.Batch) sift.Outcome {
			if err := load(b); err != nil {
				return sift.Outcome{Class: bezoar.Bug, Failure: sift.Failure{Reason: err.Error()}}
			}
			return sift.Outcome{}
		},
		Finish: func(b sift.Batch, _ sift.Outcome) error {
			done += b.Len()
			return nil
		},
		SetAside: func(l sift.Letter) error {
			fmt.Printf("row %d: %s\n", l.Row+1, l.Failure)
			return nil
		},
	})
	fmt.Println(done, "done,", summary.Letters, "set aside,", err)
	fmt.Println(float64(summary.Runs) <= sift.Bound(1000, 1)+float64(sift.Overhead(1, summary.Batches)))
	// Output:
	// row 614: row 614 has no quantity
	// 999 done, 1 set aside, <nil>
	// true
}
