package sql_test

import (
	"testing"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// TestJoined: what joins two tables beside an equality, and what does not.
func TestJoined(t *testing.T) {
	run(t, cost.Options{Explain: true}, []check{
		{text: "SELECT * FROM posts p JOIN tags t ON FIND_IN_SET(t.id, p.tag_ids) > 0 WHERE p.blog_id = 3", dialect: "mysql", want: "non_sargable"},
		{text: "SELECT * FROM articles a JOIN words w ON 0 < INSTR(a.title, w.word) WHERE a.feed_id = 9", dialect: "mysql", want: "non_sargable"},
		{text: "SELECT * FROM stops a JOIN stations b ON ST_Distance(a.geom, b.geom) < 100 WHERE a.line = 4", dialect: "pg", want: "non_sargable"},
		{text: "SELECT * FROM people a JOIN people b ON a.id < b.id AND levenshtein(a.name, b.name) <= 2 WHERE a.batch = 3", dialect: "pg", want: "non_sargable"},
		{text: "SELECT * FROM points a JOIN points b ON a.geom <-> b.geom < 50 WHERE a.region = 1", dialect: "pg", want: "non_sargable"},
		{text: "SELECT * FROM bookings a JOIN blocks b ON (a.s, a.e) OVERLAPS (b.s, b.e) WHERE a.room = 3", dialect: "pg"},
		{text: "SELECT * FROM companies a JOIN companies b ON a.name % b.name AND a.id <> b.id WHERE a.country = 'DE'", dialect: "pg"},
		{text: "SELECT * FROM a JOIN b ON a.x = b.x OR (a.x IS NULL AND b.x IS NULL) WHERE a.day = 4"},
		{text: "SELECT * FROM a JOIN b ON (a.x IS NULL AND b.x IS NULL) OR a.x = b.x WHERE a.day = 4"},
		{text: "SELECT * FROM a JOIN b ON a.k = b.k AND (a.x = b.x OR a.x IS NULL AND b.x IS NULL)"},
		{text: "SELECT * FROM orders o JOIN discounts d ON d.category = o.category OR d.category IS NULL WHERE o.account = 6"},
		{text: "SELECT * FROM orders o JOIN discounts d ON d.category IS NULL OR o.category = d.category WHERE o.account = 6"},
		{text: "SELECT * FROM a JOIN b ON a.x = b.x OR 1 = 0"},
		{text: "INSERT INTO grants SELECT r.id, p.id FROM roles r, permissions p WHERE r.name = 'admin' AND p.name IN ('a', 'b')"},
		{text: "SELECT * FROM shops s CROSS JOIN users u WHERE s.slug = 'x' AND u.email = 'y'"},
		{text: "WITH d AS (DELETE FROM cart WHERE cart_id = $1 RETURNING *), o AS (INSERT INTO orders (user_id) VALUES ($2) RETURNING id) " +
			"INSERT INTO lines (order_id, sku) SELECT o.id, d.sku FROM d CROSS JOIN o", dialect: "pg"},
		{text: "WITH o AS (INSERT INTO orders (user_id) SELECT $1 RETURNING id) INSERT INTO lines (order_id, sku) SELECT o.id, c.sku FROM cart c, o WHERE c.id = $2", dialect: "pg"},

		{text: "WITH o AS (INSERT INTO x SELECT * FROM y RETURNING id) SELECT * FROM o, cart", dialect: "pg", want: "cross_join"},
		{text: "SELECT * FROM a JOIN b ON length(a.x) > 5", want: "cross_join non_sargable"},
		{text: "SELECT * FROM a JOIN b ON a.x + b.x > 0", want: "cross_join non_sargable"},
		{text: "SELECT * FROM a JOIN b ON a.x = b.x OR a.x IS NULL OR b.y = 4", want: "cross_join"},
		{text: "SELECT * FROM a JOIN b ON a.x = b.x OR b.y IS NULL", want: "cross_join"},
		{text: "SELECT * FROM a JOIN b ON a.x = b.x OR NOT (a.x IS NULL AND b.x IS NULL)", want: "cross_join"},
		{text: "SELECT * FROM a JOIN b ON a.x IS NULL AND b.x IS NULL", want: "cross_join"},
		{text: "SELECT * FROM a JOIN b ON a.x IS NULL AND b.x IS NULL OR a.y = 4", want: "cross_join"},
		{text: "SELECT * FROM prompts p, versions v WHERE p.name = 'x'", want: "cross_join"},
		{text: "SELECT * FROM a, b WHERE a.status = 'x' AND b.status = 'y'", want: "cross_join"},
	})
}
