package live_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/live"
	"github.com/bezoar-dev/bezoar/internal/store/memory"
)

// Three versions, one of them refused, and an override for an hour.
func Example() {
	db, err := memory.Open(memory.Config{})
	if err != nil {
		panic(err)
	}
	l, err := live.New(live.Config{
		Store: db.Live(), Node: "a",
		Check: func(text []byte) error {
			if string(text) == "rate: fast" {
				return errors.New("line 1: rate: fast is no number")
			}
			return nil
		},
		Apply: func(_ context.Context, v live.Version, overrides []live.Override) error {
			fmt.Printf("run %d: %s, overrides: %d\n", v.Number, v.Text, len(overrides))
			return nil
		},
	})
	if err != nil {
		panic(err)
	}
	ctx := context.Background() // l.Run(ctx) follows the file and other nodes
	for _, text := range []string{"rate: 10", "rate: fast", "rate: 20"} {
		if _, err := l.Put(ctx, []byte(text), "ann", ""); err != nil {
			fmt.Println(err)
		}
	}
	history, err := l.History(ctx, 2) // the newest first
	if err != nil {
		fmt.Println(err)
	}
	for _, v := range history {
		fmt.Printf("%d by %s\n", v.Number, v.By)
	}
	fmt.Print(live.DiffText("1", []byte("rate: 10\n"), "2", []byte("rate: 20\n")))
	if _, err := l.Rollback(ctx, 1, "ann"); err != nil {
		fmt.Println(err)
	}
	_, err = l.Override(ctx, live.Override{Caller: "greedy", What: live.Rate, Factor: 0.5, Until: time.Now().Add(time.Hour), By: "ann"})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// run 1: rate: 10, overrides: 0
	// the new text is invalid: line 1: rate: fast is no number
	// run 2: rate: 20, overrides: 0
	// 2 by ann
	// 1 by ann
	// --- 1
	// +++ 2
	// @@ -1 +1 @@
	// -rate: 10
	// +rate: 20
	// run 3: rate: 10, overrides: 0
	// run 3: rate: 10, overrides: 1
}
