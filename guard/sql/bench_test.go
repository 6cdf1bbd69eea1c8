package sql_test

import (
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/guard/cost"
	"github.com/bezoar-dev/bezoar/guard/sql"
)

func samples() map[string]string {
	return map[string]string{
		"orm": `SELECT "users"."id", "users"."email", "users"."created_at", count("orders"."id") AS "orders_count" FROM "users" ` +
			`INNER JOIN "orders" ON "orders"."user_id" = "users"."id" LEFT OUTER JOIN "addresses" ON "addresses"."user_id" = "users"."id" ` +
			`WHERE "users"."tenant_id" = $1 AND ("users"."name" ILIKE $2 OR "users"."email" ILIKE $3) AND "orders"."status" IN ('paid', 'sent') ` +
			`GROUP BY "users"."id", "users"."email", "users"."created_at" ORDER BY "orders_count" DESC LIMIT 20 OFFSET 40`,
		"report": `WITH monthly AS (SELECT date_trunc('month', o.created_at) AS month, o.customer_id, sum(o.total) AS total FROM orders o ` +
			`JOIN customers c ON c.id = o.customer_id WHERE o.created_at >= '2026-01-01' AND o.created_at < '2027-01-01' AND c.region = 'EU' GROUP BY 1, 2) ` +
			`SELECT m.month, m.customer_id, m.total, rank() OVER (PARTITION BY m.month ORDER BY m.total DESC) AS place, ` +
			`(SELECT max(x.created_at) FROM orders x WHERE x.customer_id = m.customer_id) AS last FROM monthly m WHERE m.total > 100 ORDER BY m.month, place LIMIT 100`,
		"list":   "SELECT * FROM products WHERE id IN (" + strings.TrimSuffix(strings.Repeat("12345,", 1000), ",") + ")",
		"insert": "INSERT INTO events (id, kind, payload) VALUES " + strings.TrimSuffix(strings.Repeat("(12345, 'page_view', '{\"url\": \"/a/b/c\", \"ms\": 123}'),", 200), ","),
		"short":  "SELECT id, name FROM users WHERE id = $1",
	}
}

// BenchmarkRead reports MB/s; the aim is 100.
func BenchmarkRead(b *testing.B) {
	for name, text := range samples() {
		b.Run(name, func(b *testing.B) {
			var r sql.Reader
			q := cost.Query{Body: []byte(text), Dialect: "postgres"}
			dst := make([]cost.Measure, 0, 64)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := r.Read(dst[:0], q, cost.Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
