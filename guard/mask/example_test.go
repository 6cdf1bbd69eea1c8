package mask_test

import (
	"fmt"

	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/guard/mask"
)

// A query that somebody else may see.
func Example() {
	q := guard.Query{Kind: guard.SQL, Dialect: "postgres", Body: []byte("SELECT id FROM users WHERE mail LIKE '%@example.org' AND age > 30 LIMIT 500")}
	masked, ok := mask.Query(&q)

	g, err := guard.New(guard.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(ok, g.Alike(&q, &masked), len(masked.Body) == len(q.Body)) // masked.Body: … LIKE '%@kqwzvte.ufd' AND age > 70 LIMIT 500
	// Output: true true true
}
