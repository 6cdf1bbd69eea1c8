package sql_test

import (
	"math"
	"testing"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

func known() table {
	return table{
		"visits": {Cardinality: 1e8}, "visits.user_id": {Cardinality: 1e7}, "visits.url": {Cardinality: 1e7}, "visits.visit_id": {Cardinality: 1e8, Unique: true},
		"visits.region": {Cardinality: 1e4}, "visits.kind": {Cardinality: 5}, "visits.counter": {Cardinality: 1e4},
		"kinds": {Cardinality: 8}, "big": {Cardinality: 5e6}, "few": {Cardinality: 900}, "few.name": {Cardinality: 900},
		"events.id": {Cardinality: math.Inf(1), Unique: true},
	}
}

// TestHints: what is known of the data decides about groups, scans and joins.
func TestHints(t *testing.T) {
	run(t, cost.Options{Hints: known(), Explain: true}, []check{
		{text: "SELECT user_id, count(*) FROM visits GROUP BY user_id", want: "group_cardinality"},
		{text: "SELECT user_id AS u, count(*) FROM visits GROUP BY u", want: "group_cardinality"},
		{text: "SELECT user_id u, count(*) FROM visits GROUP BY 1 LIMIT 10", want: "group_cardinality"},
		{text: "SELECT 1, url, count(*) FROM visits GROUP BY 1, url", want: "group_cardinality"},
		{text: "SELECT lower(url), count(*) FROM visits GROUP BY lower(url)", want: "group_cardinality"},
		{text: "SELECT v.url, count(*) FROM visits AS v GROUP BY v.url", want: "group_cardinality"},
		{text: `SELECT "visits"."url", count(*) FROM "public"."visits" GROUP BY "visits"."url"`, dialect: "pg", want: "group_cardinality"},
		{text: "SELECT url, count(*) FROM visits WHERE phrase <> '' GROUP BY url", want: "group_cardinality"},
		{text: "SELECT url, count(*) FROM visits WHERE kind = 3 GROUP BY url", want: "group_cardinality"},
		{text: "SELECT region, counter, count(*) FROM visits GROUP BY region, counter", want: "group_cardinality"},
		{text: "SELECT user_id, extract(minute FROM at) AS m, count(*) FROM visits GROUP BY user_id, m", want: "group_cardinality"},
		{text: "SELECT id, count(*) FROM events GROUP BY id", want: "group_cardinality"},
		{text: "SELECT DISTINCT url FROM visits", want: "group_cardinality"},
		{text: "SELECT url FROM visits GROUP BY ROLLUP (url)", want: "group_cardinality"},
		{text: "SELECT * FROM (SELECT url, count(*) c FROM visits GROUP BY url) x WHERE c > 5", want: "group_cardinality"},

		{text: "SELECT region, count(DISTINCT user_id) AS u FROM visits GROUP BY region ORDER BY u DESC LIMIT 10"},
		{text: "SELECT kind, count(*) FROM visits GROUP BY kind"},
		{text: "SELECT kind, extract(hour FROM at), count(*) FROM visits GROUP BY 1, 2"},
		{text: "SELECT url, count(*) FROM visits WHERE counter = 62 AND day >= '2026-07-01' GROUP BY url ORDER BY 2 DESC LIMIT 10"},
		{text: "SELECT url_hash, day, count(*) FROM visits WHERE counter = 62 GROUP BY url_hash, day"},
		{text: "SELECT date_trunc('minute', at) AS m, count(*) FROM visits WHERE counter = 62 GROUP BY date_trunc('minute', at)", dialect: "pg"},
		{text: "SELECT phone, kind, count(*) FROM visits WHERE kind <> 0 GROUP BY phone, kind"},
		{text: "SELECT id, count(*) FROM events WHERE tenant = 4 GROUP BY id"},
		{text: "SELECT count(DISTINCT url), max(user_id) FROM visits"},
		{text: "SELECT counter, count(*) FROM visits WHERE url <> '' GROUP BY counter HAVING count(*) > 100000"},

		{text: "SELECT * FROM big", want: "full_scan"},
		{text: "SELECT id FROM big WHERE 1=1 ORDER BY id", want: "full_scan"},
		{text: "SELECT * FROM few UNION ALL SELECT * FROM big", want: "full_scan"},
		{text: "TABLE big", dialect: "pg", want: "full_scan"},
		{text: "SELECT * FROM few"},
		{text: "SELECT * FROM big LIMIT 10"},
		{text: "SELECT count(*) FROM big"},
		{text: "SELECT * FROM big WHERE a = 1"},
		{text: "INSERT INTO copy SELECT * FROM big"},
		{text: "SELECT * FROM (SELECT * FROM big) x LIMIT 5"},

		{text: "SELECT * FROM visits CROSS JOIN kinds WHERE visits.counter = 4"}, // eight rows
		{text: "SELECT * FROM few WHERE name LIKE '%x'"},                         // small enough to read
		{text: "SELECT * FROM visits WHERE kind = 3 AND url LIKE '%x%'", want: "leading_wildcard"},
		{text: "SELECT * FROM visits WHERE counter = 3 AND url LIKE '%x%'"},
	})
}

// TestValues: the numbers themselves.
func TestValues(t *testing.T) {
	for _, c := range []struct {
		text string
		p    cost.Predictor
		want float64
		args []any
	}{
		{text: "SELECT * FROM t LIMIT 10 OFFSET 90", p: cost.OffsetRows, want: 100},
		{text: "SELECT * FROM t LIMIT 90, 10", p: cost.OffsetRows, want: 100},
		{text: "SELECT * FROM t OFFSET 90 ROWS FETCH FIRST ROW ONLY", p: cost.OffsetRows, want: 91},
		{text: "SELECT * FROM t LIMIT 1e3 OFFSET 0x10", p: cost.OffsetRows, want: 1016},
		{text: "SELECT * FROM t LIMIT 10 OFFSET (90)", p: cost.OffsetRows, want: 100},
		{text: "SELECT * FROM t LIMIT 10 OFFSET 90::bigint", p: cost.OffsetRows, want: 100},
		{text: "SELECT * FROM t LIMIT 10", p: cost.OffsetRows, want: math.NaN()},
		{text: "SELECT * FROM t LIMIT 10 OFFSET ?", p: cost.OffsetRows, want: math.NaN()},
		{text: "SELECT * FROM t WHERE a = ? LIMIT ? OFFSET ?", p: cost.OffsetRows, want: 100, args: []any{"?", 10, 90}},
		{text: "SELECT * FROM t WHERE a = :a LIMIT :n OFFSET :o", p: cost.OffsetRows, want: 100, args: named("a", 1, "o", 90, "n", 10)},
		{text: "SELECT * FROM t LIMIT 10", p: cost.MissingLimit, want: 10},
		{text: "SELECT * FROM t LIMIT ?", p: cost.MissingLimit, want: 70, args: []any{int32(70)}},
		{text: "SELECT * FROM t LIMIT ?", p: cost.MissingLimit, want: math.NaN()},
		{text: "SELECT * FROM t LIMIT ALL", p: cost.MissingLimit, want: math.Inf(1)},
		{text: "SELECT * FROM t", p: cost.MissingLimit, want: math.Inf(1)},
		{text: "SELECT * FROM t WHERE id = 4", p: cost.MissingLimit, want: math.NaN()},
		{text: "SELECT count(*) FROM t", p: cost.MissingLimit, want: math.NaN()},
		{text: "SELECT a, count(*) FROM t GROUP BY a", p: cost.MissingLimit, want: math.NaN()},
		{text: "SELECT count(*) OVER () FROM t", p: cost.MissingLimit, want: math.Inf(1)},
		{text: "INSERT INTO s SELECT * FROM t", p: cost.MissingLimit, want: math.NaN()},
		{text: "SELECT * FROM a JOIN b ON a.id = b.id, c LEFT JOIN (d JOIN e USING (x)) ON c.id = d.id", p: cost.JoinCount, want: 5},
		{text: "SELECT * FROM a, b, c, d WHERE a.id = b.id AND c.id = d.id", p: cost.CrossJoin, want: 2},
		{text: "SELECT * FROM t WHERE id IN (1, 2, (3), f(4, 5))", p: cost.InList, want: 4},
		{text: "SELECT * FROM t WHERE id IN (?)", p: cost.InList, want: 3, args: []any{[]string{"a", "b", "c"}}},
		{text: "SELECT * FROM t WHERE id = ANY($1)", p: cost.InList, want: 3, args: []any{`{a,"b,c",d}`}},
		{text: "SELECT * FROM t WHERE a LIKE '%x%%y%'", p: cost.LikeWildcards, want: 3},
		{text: "SELECT (SELECT (SELECT 1)) FROM t WHERE a IN (SELECT 1)", p: cost.SubqueryDepth, want: 2},
		{text: "WITH a AS (SELECT 1), b AS (SELECT * FROM a) SELECT * FROM b", p: cost.SubqueryDepth, want: math.NaN()},
		{text: "SELECT 1; ; SELECT 2; -- SELECT 3;\n SELECT ';'", p: cost.MultiStatement, want: 3},
		{text: "SELECT a, b FROM t GROUP BY a, b", p: cost.GroupCardinality, want: 100_000},
		{text: "SELECT hour(at), dayofweek(at) FROM t GROUP BY 1, 2", p: cost.GroupCardinality, want: 24 * 7},
		{text: "DELETE FROM t LIMIT 500", p: cost.OffsetRows, want: 500},
	} {
		got := find(read(t, cost.Query{Body: []byte(c.text), Args: c.args}, cost.Options{}), c.p)
		if got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("%s: %s is %v, want %v", c.text, c.p, got, c.want)
		}
	}
}
