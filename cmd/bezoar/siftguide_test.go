package main

import (
	"testing"
)

// Every command of the guide to sifting is run, in order.
func TestSiftGuide(t *testing.T) {
	t.Parallel()
	r := newBuilt(t, "docs/sift.md")
	r.read(map[string][]string{
		"totals.txt || test $? = 6\nwc": {"998 of 1,000 rows done, 2 set aside", "KeyError: 'quantity' ", " load.py:5 (<module>)", "load.py:4", `{"id": 612,`, "\n998\n"},
		"not today":                     {"99 of 100 rows done, 1 set aside", "1 run, 0 failed", "not today"},
		"laod.py":                       {"it is the command, not the data", "3 runs, 3 failed", "laod.py': [Errno 2] No such file"},
		"head -n 1 bad.ndjson":          {`"row":137,`, `"text":"{\"id\": 137, \"price\": 5}"`, `"type":"KeyError"`, `"line":5`},
		"orders.sift":                   {"998 of 1,000 rows done, 2 set aside", "\n0 runs\n", "2 of 1,000 rows set aside"},
	})
}
