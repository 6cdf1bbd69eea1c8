package balance_test

import (
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/policy/balance"
)

func Example() {
	e := balance.Eject{}.WithDefaults()
	now := time.Unix(1_000_000, 0)
	var workers [3]balance.Record
	for range 100 {
		for i := range workers {
			workers[i].Add(now, &e, balance.Outcome{Status: 200})
		}
	}
	for range 5 { // the first one begins to fail
		workers[0].Add(now, &e, balance.Outcome{Status: 500})
	}
	others := []balance.Sample{workers[1].Sample(now, e.Window), workers[2].Sample(now, e.Window)}
	why, outlier := e.Judge(now, &workers[0], others)
	fmt.Println(outlier, why)
	fmt.Println(workers[0].Eject(now, &e, 0).Sub(now))
	// Output:
	// true 5 failures in a row, while 0 % fail on the median worker
	// 30s
}
