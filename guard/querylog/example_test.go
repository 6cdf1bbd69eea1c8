package querylog_test

import (
	"fmt"
	"strings"

	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/guard/querylog"
)

// What limits would have done to a slow log of MySQL.
func Example() {
	const log = `# Time: 2026-11-28T10:00:00.000000Z
# User@Host: shop[shop] @ web [10.0.0.7]  Id: 8
# Query_time: 4.5  Lock_time: 0.0 Rows_sent: 12  Rows_examined: 900000
SET timestamp=1795860000;
SELECT name FROM products WHERE name LIKE '%lamp';
# User@Host: shop[shop] @ web [10.0.0.7]  Id: 8
# Query_time: 0.002  Lock_time: 0.0 Rows_sent: 1  Rows_examined: 1
SET timestamp=1795860004;
SELECT name FROM products WHERE id = 7;
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
			replayer.Unread("slow.log", line, err)
			return nil
		}
		replayer.Add("slow.log", line, rec)
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
	// leading_wildcard by shop at line 5
}
