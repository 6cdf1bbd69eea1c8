package sql_test

import (
	"math"
	"strconv"
	"testing"

	"github.com/bezoar-dev/bezoar/guard/cost"
	"github.com/bezoar-dev/bezoar/guard/sql"
)

func named(pairs ...any) []any {
	var args []any
	for i := 0; i < len(pairs); i += 2 {
		args = append(args, sql.Named{Name: pairs[i].(string), Value: pairs[i+1]})
	}
	return args
}

// capped is the text with its rows lowered to 50; "" when that cannot be.
func capped(text string, measures []cost.Measure) string {
	for _, m := range measures {
		if m.Predictor != cost.MissingLimit || m.Value <= 50 {
			continue
		}
		if m.Cap.Place != cost.CapBody {
			return ""
		}
		text = text[:m.Cap.Start] + m.Cap.Prefix + strconv.Itoa(50) + m.Cap.Suffix + text[m.Cap.End:]
	}
	return text
}

// TestCap: a LIMIT is lowered, or written where it belongs, and nothing else
// changes.
func TestCap(t *testing.T) {
	for _, c := range []struct {
		text, dialect, want string
		args                []any
	}{
		{text: "SELECT * FROM t", want: "SELECT * FROM t LIMIT 50"},
		{text: "SELECT * FROM t;", want: "SELECT * FROM t LIMIT 50;"},
		{text: "SELECT * FROM t -- all of it", want: "SELECT * FROM t LIMIT 50 -- all of it"},
		{text: "SELECT * FROM t /* all */ ; ", want: "SELECT * FROM t LIMIT 50 /* all */ ; "},
		{text: "SELECT * FROM t ORDER BY a DESC\n", want: "SELECT * FROM t ORDER BY a DESC LIMIT 50\n"},
		{text: "SELECT * FROM t WHERE a = 'x' FOR UPDATE", want: "SELECT * FROM t WHERE a = 'x' LIMIT 50 FOR UPDATE"},
		{text: "SELECT * FROM t FOR SHARE OF t SKIP LOCKED", dialect: "pg", want: "SELECT * FROM t LIMIT 50 FOR SHARE OF t SKIP LOCKED"},
		{text: "SELECT * FROM t LOCK IN SHARE MODE", dialect: "mysql", want: "SELECT * FROM t LIMIT 50 LOCK IN SHARE MODE"},
		{text: "SELECT * FROM t PROCEDURE ANALYSE()", dialect: "mysql", want: "SELECT * FROM t LIMIT 50 PROCEDURE ANALYSE()"},
		{text: "SELECT * FROM t LIMIT -1", want: "SELECT * FROM t LIMIT 50"},
		{text: "SELECT * FROM t INTO OUTFILE '/x'", dialect: "mysql", want: "SELECT * FROM t LIMIT 50 INTO OUTFILE '/x'"},
		{text: "SELECT * FROM t OFFSET 10", dialect: "pg", want: "SELECT * FROM t OFFSET 10 LIMIT 50"},
		{text: "SELECT * FROM t LIMIT 100", want: "SELECT * FROM t LIMIT 50"},
		{text: "SELECT * FROM t LIMIT 100 OFFSET 3", want: "SELECT * FROM t LIMIT 50 OFFSET 3"},
		{text: "SELECT * FROM t OFFSET 3 LIMIT 100", dialect: "pg", want: "SELECT * FROM t OFFSET 3 LIMIT 50"},
		{text: "SELECT * FROM t LIMIT 3, 100", dialect: "mysql", want: "SELECT * FROM t LIMIT 3, 50"},
		{text: "SELECT * FROM t LIMIT ALL", dialect: "pg", want: "SELECT * FROM t LIMIT 50"},
		{text: "SELECT * FROM t LIMIT (1000)", dialect: "pg", want: "SELECT * FROM t LIMIT 50"},
		{text: "SELECT * FROM t LIMIT 1000::bigint", dialect: "pg", want: "SELECT * FROM t LIMIT 50"},
		{text: "SELECT * FROM t FETCH FIRST 100 ROWS ONLY", want: "SELECT * FROM t FETCH FIRST 50 ROWS ONLY"},
		{text: "SELECT * FROM a UNION SELECT * FROM b", want: "SELECT * FROM a UNION SELECT * FROM b LIMIT 50"},
		{text: "(SELECT * FROM a) UNION (SELECT * FROM b LIMIT 5)", want: "(SELECT * FROM a) UNION (SELECT * FROM b LIMIT 5) LIMIT 50"},
		{text: "(SELECT * FROM a)", want: "(SELECT * FROM a) LIMIT 50"},
		{text: "WITH x AS (SELECT * FROM a) SELECT * FROM x", want: "WITH x AS (SELECT * FROM a) SELECT * FROM x LIMIT 50"},
		{text: "TABLE t", dialect: "pg", want: "TABLE t LIMIT 50"},
		{text: "SELECT 1; SELECT * FROM t; SELECT 2", want: "SELECT 1; SELECT * FROM t LIMIT 50; SELECT 2"},
		{text: "SELECT * FROM t LIMIT 20", want: "SELECT * FROM t LIMIT 20"},
		{text: "SELECT * FROM t LIMIT $1", dialect: "pg", want: "SELECT * FROM t LIMIT $1"},
		{text: "SELECT * FROM t LIMIT $1", dialect: "pg", args: []any{1000}, want: "SELECT * FROM t LIMIT LEAST($1::bigint, 50)"},
		{text: "SELECT * FROM t LIMIT ?", dialect: "mysql", args: []any{1000}, want: ""}, // would leave a value without a placeholder
		{text: "SELECT * FROM t /*!50000 LIMIT 5 */", dialect: "mysql", want: ""},        // servers differ
		{text: "SELECT * FROM t WHERE id = 4", want: "SELECT * FROM t WHERE id = 4"},
		{text: "SELECT count(*) FROM t", want: "SELECT count(*) FROM t"},
		{text: "INSERT INTO s SELECT * FROM t", want: "INSERT INTO s SELECT * FROM t"},
		{text: "DELETE FROM t WHERE a = 1", want: "DELETE FROM t WHERE a = 1"},
	} {
		q := cost.Query{Body: []byte(c.text), Dialect: c.dialect, Args: c.args}
		measures := read(t, q, cost.Options{Explain: true})
		got := capped(c.text, measures)
		if got != c.want {
			t.Errorf("%s\n  became %q, want %q", c.text, got, c.want)
			continue
		}
		if got == "" {
			continue
		}
		q.Body = []byte(got)
		for _, m := range read(t, q, cost.Options{}) {
			if m.Predictor == cost.MissingLimit && m.Value > 50 && len(c.args) == 0 && !math.IsNaN(m.Value) {
				t.Errorf("%s still gives %v rows", got, m.Value)
			}
		}
	}
}
