package querylog_test

import (
	"fmt"
	"strings"

	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/guard/querylog"
)

// What limits would have done to a log of PostgreSQL.
func Example() {
	const log = `2026-11-28 10:00:00.000 UTC [8] shop@db/web LOG:  duration: 4500.000 ms  statement: SELECT name FROM products WHERE name LIKE '%lamp'
2026-11-28 10:00:04.000 UTC [8] shop@db/web LOG:  duration: 2.000 ms  statement: SELECT name FROM products WHERE id = 7
`
	limits, err := guard.New(guard.Config{Limits: guard.Limits{Profile: guard.ProfileStrict}})
	if err != nil {
		panic(err)
	}
	replayer, err := guard.NewReplayer(guard.ReplayConfig{Limits: limits})
	if err != nil {
		panic(err)
	}
	err = querylog.Read(strings.NewReader(log), querylog.Options{}, func(line int, rec *guard.Record, err error) error {
		if err != nil {
			replayer.Unread("postgresql.log", line, err)
			return nil
		}
		replayer.Add("postgresql.log", line, rec)
		return nil
	})
	if err != nil {
		panic(err)
	}
	r := replayer.Report()
	fmt.Printf("%d of %d queries, which took %.1f of %.1f seconds\n", r.Rejected, r.Queries, r.RejectedTook, r.Took)
	fmt.Println(r.Rules[0].Name, "by", r.Callers[0].Name, "at line", r.Examples[0].Line)
	// Output:
	// 1 of 2 queries, which took 4.5 of 4.5 seconds
	// leading_wildcard by web at line 1
}
