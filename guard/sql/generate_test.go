package sql_test

import (
	"math"
	"testing"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// TestGenerated: how much a statement makes out of nothing.
func TestGenerated(t *testing.T) {
	for _, c := range []struct {
		text string
		want float64 // 0: not measured
		args []any
	}{
		{text: "SELECT * FROM generate_series(1, 1000000000)", want: 1e9},
		{text: "SELECT LEVEL FROM dual CONNECT BY LEVEL <= 100000000", want: 1e8},
		{text: "SELECT TRUNC(SYSDATE) - ROWNUM FROM dual CONNECT BY ROWNUM < 1000 * 1000", want: 1e6},
		{text: "SELECT LEVEL FROM staff CONNECT BY LEVEL <= 100000000"},
		{text: "SELECT generate_series(0, 1e9::bigint, 2)", want: 5e8 + 1},
		{text: "SELECT * FROM generate_series(10, 1, -1) g", want: 10},
		{text: "SELECT * FROM generate_series(1, 1000 * 1000 * 1000)", want: 1e9},
		{text: "SELECT * FROM generate_series(2 - 1, 6 + 4 / 2)", want: 8},
		{text: "SELECT * FROM generate_series(0, (1 << 4) - 1)", want: 16},
		{text: "SELECT * FROM generate_series(1, (2 + 3) * -(-4))", want: 20},
		{text: "SELECT * FROM generate_series(1, power(10, 2 + 1)::int)", want: 1000},
		{text: "SELECT * FROM generate_series(1, ~ -1000000000)", want: math.Inf(1)}, // signs that are not known
		{text: "SELECT * FROM generate_series(1, 2 << 20 << 10)", want: math.Inf(1)},
		{text: "SELECT * FROM generate_series(1, 1000000000 | 1)", want: 1e9 + 1},
		{text: "SELECT * FROM generate_series(1, 3 & 7)", want: 10},
		{text: "SELECT * FROM generate_series(-5000, length('x'))", want: 0},
		{text: "SELECT * FROM generate_series(1, extract(day from now())::int)", want: 0},
		{text: "SELECT * FROM generate_series(1, array_length(ARRAY[1, 2], 1))", want: 0},
		{text: "SELECT * FROM generate_series(now() - interval '1 day', now(), '1 hour')", want: 0},
		{text: "SELECT * FROM generate_series(1, 10^9 - 1)", want: 1e9 - 1},
		{text: "SELECT * FROM generate_series(1, 2 * 10^3)", want: 2000},
		{text: "SELECT repeat('x', 1 << 30)", want: 1 << 30},
		{text: "SELECT * FROM generate_series($1, $2)", want: 0},
		{text: "SELECT * FROM generate_series($1, $2)", want: 2e8, args: []any{1, int64(2e8)}},
		{text: "SELECT * FROM generate_series(1, t.n) g, t", want: 0},
		{text: "SELECT * FROM generate_series('2026-01-01'::date, '2026-12-31', '1 day')", want: 0},
		{text: "SELECT 1 FROM generate_series(1, 1e5) a, generate_series(1, 1e5) b", want: 1e10},
		{text: "SELECT 1 FROM generate_series(1, 1e5) a(n) JOIN generate_series(1, 1e5) b(n) ON a.n = b.n", want: 1e5},
		{text: "SELECT 1 FROM (SELECT generate_series(1, 1e5) i) a, (SELECT j FROM generate_series(1, 1e5) j) b", want: 1e10},
		{text: "WITH a AS (SELECT generate_series(1, 1e5) i) SELECT count(*) FROM a x, a y", want: 1e10},
		{text: "WITH a AS (SELECT generate_series(1, 1e9) i LIMIT 7) SELECT count(*) FROM a x, a y", want: 1e9},
		{text: "SELECT 1 FROM (SELECT max(i) FROM generate_series(1, 1e5) i) a, generate_series(1, 1e5) b", want: 1e5},
		{text: "SELECT repeat('ab', 500000000)", want: 1e9},
		{text: "SELECT repeat(repeat('x', 1000), ?)", want: 1e6, args: []any{1000}},
		{text: "SELECT repeat(name, 3) FROM t WHERE id = 1", want: 3},
		{text: "SELECT rpad('x', 4e9), lpad(name, 10) FROM t WHERE id = 1", want: 4e9},
		{text: "SELECT space(1e9)", want: 1e9},
		{text: "INSERT INTO t (a) VALUES (repeat('x', 2000000))", want: 2e6},
		{text: "SELECT repeat FROM t WHERE id = 1", want: 0},

		{text: "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT * FROM r", want: math.Inf(1)},
		{text: "WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT (n + 1) FROM r) SELECT count(*) FROM r", want: math.Inf(1)},
		{text: "WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT n - -1 FROM r) SELECT count(*) FROM r", want: math.Inf(1)},
		{text: "WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT mod(n + 1, 5) FROM r) SELECT count(*) FROM r", want: 0},
		{text: "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE true) SELECT * FROM r", want: math.Inf(1)},
		{text: "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 5000) SELECT * FROM r", want: 5000},
		{text: "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE 5000 > n) SELECT * FROM r", want: 5000},
		{text: "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < ?) SELECT * FROM r", want: 7e9, args: []any{int64(7e9)}},
		{text: "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n FROM r LIMIT 5", want: 0},
		{text: "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n FROM r ORDER BY n LIMIT 5", want: math.Inf(1)},
		{text: "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r LIMIT 5", want: math.Inf(1)},
		{text: "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r LIMIT 50) SELECT count(*) FROM r", want: 0},
		{text: "WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT n % 3 FROM r) SELECT * FROM r", want: 0},
		{text: "WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT (n + 1) % 3 FROM r) SELECT * FROM r", want: 0},
		{text: "WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT n + 1 FROM r) SELECT * FROM r", want: math.Inf(1)},
		{text: "WITH RECURSIVE r AS (SELECT id FROM t UNION ALL SELECT t.id FROM t, r WHERE t.up = r.id) SELECT * FROM r", want: 0},
		{text: "WITH RECURSIVE r(d) AS (SELECT '2026-01-01'::date UNION ALL SELECT d + 1 FROM r WHERE d < '2026-12-31') SELECT d FROM r", want: 0},
	} {
		got := 0.0
		for _, m := range read(t, cost.Query{Body: []byte(c.text), Dialect: "postgres", Args: c.args}, cost.Options{}) {
			if m.Predictor == cost.Generated {
				got = max(got, m.Value)
			}
		}
		if got != c.want {
			t.Errorf("%s makes %v, want %v", c.text, got, c.want)
		}
	}
}

// TestDrop: what a statement empties by its nature.
func TestDrop(t *testing.T) {
	for _, c := range []struct {
		text string
		want float64
	}{
		{"TRUNCATE t", 1},
		{"TRUNCATE TABLE a, b RESTART IDENTITY", 2},
		{"DROP TABLE IF EXISTS a, b, c CASCADE", 3},
		{"DROP TEMPORARY TABLE a", 1},
		{"DROP DATABASE d", 1},
		{"DROP SCHEMA s CASCADE", 1},
		{"ALTER TABLE t DROP COLUMN a, DROP b", 2},
		{"ALTER TABLE t DROP PARTITION p1", 1},
		{"ALTER TABLE t TRUNCATE PARTITION p1", 1},
		{"ALTER TABLE t DROP INDEX i, DROP CONSTRAINT c, ALTER COLUMN a DROP DEFAULT", 0},
		{"DROP INDEX i", 0},
		{"DROP VIEW v", 0},
		{"SELECT truncate(a, 2), drop FROM t WHERE id = 1", 0},
	} {
		got := find(read(t, cost.Query{Body: []byte(c.text)}, cost.Options{Explain: true}), cost.Drop)
		if math.IsNaN(got) {
			got = 0
		}
		if got != c.want {
			t.Errorf("%s: %v, want %v", c.text, got, c.want)
		}
	}
}

// TestBound: the values of placeholders decide as if they stood in the text.
func TestBound(t *testing.T) {
	many := make([]any, 1200)
	for i := range many {
		many[i] = int64(i)
	}
	run(t, cost.Options{Explain: true}, []check{
		{text: "SELECT * FROM t WHERE name LIKE $1", dialect: "pg"},
		{text: "SELECT * FROM t WHERE name LIKE $1", dialect: "pg", args: []any{"x%"}},
		{text: "SELECT * FROM t WHERE name LIKE $1", dialect: "pg", args: []any{"%x"}, want: "leading_wildcard"},
		{text: "SELECT * FROM t WHERE name LIKE $1 || '%'", dialect: "pg", args: []any{"%x"}, want: "leading_wildcard"},
		{text: "SELECT * FROM t WHERE name LIKE CONCAT(?, '%')", dialect: "mysql", args: []any{"_x"}, want: "leading_wildcard"},
		{text: "SELECT * FROM t WHERE name LIKE ? AND shop = ?", args: []any{"%x", 4}},
		{text: "DELETE FROM t WHERE name LIKE $1 || '%'", dialect: "pg", args: []any{""}, want: "missing_where"},
		{text: "DELETE FROM t WHERE name LIKE ?", args: []any{"%"}, want: "missing_where"},
		{text: "DELETE FROM t WHERE ?", args: []any{true}, want: "missing_where"},
		{text: "DELETE FROM t WHERE ?", args: []any{false}},
		{text: "DELETE FROM t WHERE ?"},
		{text: "DELETE FROM t WHERE ? = ?", args: []any{1, 1}, want: "missing_where"},
		{text: "SELECT * FROM t LIMIT $1 OFFSET $2", dialect: "pg"},
		{text: "SELECT * FROM t LIMIT $1 OFFSET $2", dialect: "pg", args: []any{10, 9990}},
		{text: "SELECT * FROM t LIMIT $1 OFFSET $2", dialect: "pg", args: []any{10, 9991}, want: "offset"},
		{text: "SELECT * FROM t LIMIT ?, ?", dialect: "mysql", args: []any{50_000, 10}, want: "offset"},
		{text: "SELECT * FROM t OFFSET $1 ROWS FETCH NEXT $2 ROWS ONLY", dialect: "pg", args: []any{50_000, 10}, want: "offset"},
		{text: "SELECT * FROM t OFFSET $1 * $2 LIMIT $2", dialect: "pg", args: []any{500, 100}, want: "offset"},
		{text: "DELETE FROM t WHERE a = 1 LIMIT ?", dialect: "mysql", args: []any{50_000}, want: "offset"},
		{text: "SELECT * FROM t WHERE id IN ($1, $2)", dialect: "pg", args: []any{1, 2}},
		{text: "SELECT * FROM t WHERE id IN (" + list(1000) + ")"},
		{text: "SELECT * FROM t WHERE id IN (?)", args: []any{many}, want: "in_list"},
		{text: "SELECT * FROM t WHERE id = ANY ($1)", dialect: "pg", args: []any{many}, want: "in_list"},
		{text: "SELECT * FROM t WHERE id <> ALL ($1)", dialect: "pg", args: []any{[]int{1}}},
		{text: "SELECT repeat('x', $1)", dialect: "pg", args: []any{int64(1e9)}, want: "generated"},
		{text: "SELECT * FROM t WHERE name REGEXP ?", dialect: "mysql", args: []any{"(a+)+$"}, want: "regex regex_exponential"},
	})
}
