package guard_test

import (
	"testing"

	"github.com/bezoar-dev/bezoar/guard"
)

// TestExpressionsInSQL: what becomes slow with the length of a value is reported
// in SQL, where values are short, and refused by itself; what doubles with each
// byte is refused in both.
func TestExpressionsInSQL(t *testing.T) {
	g, err := guard.New(guard.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		expression string
		sql, alone guard.Outcome
	}{
		{`^[^@]+@[^@]+[.][^@]{2,}$`, guard.Reported, guard.Rejected},
		{`^(a+)+$`, guard.Rejected, guard.Rejected},
	} {
		var v guard.Verdict
		g.Check(&guard.Query{Kind: guard.SQL, Dialect: "mysql", Body: []byte("SELECT id FROM t WHERE id = 4 AND v REGEXP '" + c.expression + "'")}, &v)
		if v.Verdict != c.sql {
			t.Errorf("%s in SQL: %v, want %v", c.expression, v.Verdict, c.sql)
		}
		g.Check(&guard.Query{Kind: guard.Regex, Dialect: "pcre", Body: []byte(c.expression)}, &v)
		if v.Verdict != c.alone {
			t.Errorf("%s alone: %v, want %v", c.expression, v.Verdict, c.alone)
		}
	}
}
