package sql_test

import (
	"fmt"

	"github.com/bezoar-dev/bezoar/guard/cost"
	"github.com/bezoar-dev/bezoar/guard/sql"
)

func ExampleReader() {
	var r sql.Reader
	measures, err := r.Read(nil, cost.Query{
		Dialect: "postgres",
		Body: []byte(`SELECT u.name, count(*)
FROM users u, orders o, regions
WHERE o.user_id = u.id AND u.name LIKE '%' || $1
GROUP BY u.name LIMIT 10 OFFSET $2`),
		Args: []any{"son", 50_000},
	}, cost.Options{Explain: true})
	if err != nil {
		panic(err)
	}
	for _, m := range measures {
		fmt.Printf("%v %.0f in %s: %s\n", m.Predictor, m.Value, m.Path, m.Detail)
	}
	// Output:
	// leading_wildcard 1 in LIKE: u.name LIKE '%' || $1: the pattern begins with a wildcard, and no other condition selects rows: every row is read
	// join_count 3 in FROM: 3 tables in one FROM
	// cross_join 2 in FROM: 2 groups of tables without a join between them: users+orders × regions
	// group_cardinality 100000 in GROUP BY: assumed 100000 (name)
	// offset 50000 in OFFSET: 50000 groups skipped
	// missing_limit 10 in LIMIT: rows that may be returned
}
