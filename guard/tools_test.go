package guard

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// ids is a list of n ids.
func ids(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, ", %d", 4_000_000+i*37)
	}
	return b.String()[2:]
}

// eav is how Magento joins n attributes of a product.
func eav(n int) string {
	var b strings.Builder
	b.WriteString("SELECT `e`.* FROM `catalog_product_entity` AS `e`")
	for i := range n {
		fmt.Fprintf(&b, " LEFT JOIN `catalog_product_entity_varchar` AS `at_%[1]d` ON (`at_%[1]d`.`entity_id` = `e`.`entity_id`) AND (`at_%[1]d`.`attribute_id` = %[2]d) AND (`at_%[1]d`.`store_id` = 0)", i, 70+i)
	}
	return b.String() + " WHERE (`e`.`entity_id` IN(" + ids(40) + "))"
}

// direct is how Power BI nests what a report filters, depth levels deep.
func direct(depth int) string {
	return "SELECT TOP (1000001) * FROM (" + strings.Repeat("SELECT [t0].[Region] AS [c11], SUM([t0].[Amount]) AS [a0] FROM (", depth-2) +
		"SELECT [_].[Region], [_].[Amount] FROM [dbo].[Sales] AS [_] WHERE [_].[Year] = 2024" + strings.Repeat(") AS [t0] GROUP BY [t0].[Region]", depth-2) + ") AS [MainTable] WHERE NOT ([a0] IS NULL)"
}

const recentLogs = `{"size":500,"query":{"bool":{"must":[],"filter":[%s,{"range":{"@timestamp":{"format":"strict_date_optional_time","gte":"2024-05-01T10:00:00.000Z","lte":"2024-05-01T10:15:00.000Z"}}}],"should":[],"must_not":[]}}}`

type toolQuery struct {
	tool, request, text string // a request is Elasticsearch's, else a dialect
}

// ordinaryTools is what object mappers, shops and BI tools send every day, after
// their documentation.
func ordinaryTools() []toolQuery {
	return []toolQuery{
		{"Django admin: search", "postgres", `SELECT "auth_user"."id", "auth_user"."username" FROM "auth_user" WHERE (UPPER("auth_user"."username"::text) LIKE UPPER('%jo%') OR UPPER("auth_user"."email"::text) LIKE UPPER('%jo%')) ORDER BY "auth_user"."id" DESC LIMIT 100`},
		{"Django admin: count", "postgres", `SELECT COUNT(*) AS "__count" FROM "auth_user" WHERE UPPER("auth_user"."username"::text) LIKE UPPER('%jo%')`},
		{"Django admin: search over a relation", "mysql", "SELECT DISTINCT `shop_order`.`id` FROM `shop_order` INNER JOIN `shop_customer` ON (`shop_order`.`customer_id` = `shop_customer`.`id`) WHERE (`shop_order`.`number` LIKE '%a7%' OR `shop_customer`.`name` LIKE '%a7%') ORDER BY `shop_order`.`id` DESC LIMIT 100"},
		{"Django: prefetch_related", "postgres", `SELECT "shop_line"."id", "shop_line"."order_id" FROM "shop_line" WHERE "shop_line"."order_id" IN (` + ids(1500) + `)`},
		{"Django: cache cleared", "postgres", `DELETE FROM "django_cache"`},
		{"Django: exclude over a relation", "postgres", `SELECT "b"."id" FROM "b" WHERE NOT (EXISTS(SELECT 1 AS "a" FROM "e" U1 WHERE (U1."headline" LIKE '%Lennon%' AND U1."blog_id" = ("b"."id")) LIMIT 1)) LIMIT 21`},
		{"Rails: preload", "postgres", `SELECT "comments".* FROM "comments" WHERE "comments"."post_id" IN (` + ids(1500) + `)`},
		{"Rails: a large preload", "mysql", "SELECT `tags`.* FROM `tags` WHERE `tags`.`id` IN (" + ids(4000) + ")"},
		{"Ransack: contains", "postgres", `SELECT "users".* FROM "users" WHERE ("users"."first_name" ILIKE '%jo%' OR "users"."last_name" ILIKE '%jo%')`},
		{"Ransack: a page of it", "postgres", `SELECT "users".* FROM "users" WHERE "users"."name" ILIKE '%jo%' ORDER BY "users"."name" ASC LIMIT 25 OFFSET 50`},
		{"Kaminari: count", "postgres", `SELECT COUNT(*) FROM "users" WHERE "users"."name" ILIKE '%jo%'`},
		{"Rails: eager_load", "postgres", `SELECT DISTINCT "posts"."id" FROM "posts" LEFT OUTER JOIN "comments" ON "comments"."post_id" = "posts"."id" LEFT OUTER JOIN "users" ON "users"."id" = "comments"."user_id" WHERE "users"."name" LIKE '%jo%' LIMIT 20`},
		{"Rails: delete_all of sessions", "mysql", "DELETE FROM `sessions`"},
		{"Hibernate: search of a page", "postgres", `select u1_0.id,u1_0.name from users u1_0 where lower(u1_0.name) like ('%'||lower(?)||'%') escape '' order by u1_0.name offset ? rows fetch first ? rows only`},
		{"Hibernate: batch of a collection", "postgres", `select l1_0.order_id,l1_0.id from line l1_0 where l1_0.order_id = any (?)`},
		{"Hibernate: bulk delete", "mysql", `delete from audit_cache`},
		{"Prisma: include", "postgres", `SELECT "public"."Post"."id" FROM "public"."Post" WHERE "public"."Post"."authorId" IN (` + ids(2000) + `) OFFSET $1`},
		{"Prisma: contains", "postgres", `SELECT "public"."User"."id" FROM "public"."User" WHERE "public"."User"."email"::text LIKE '%prisma%' LIMIT 10 OFFSET 0`},
		{"Prisma: deleteMany", "postgres", `DELETE FROM "public"."Cache"`},
		{"Magento: attributes of products", "mysql", eav(25)},
		{"Magento: grid search", "mysql", "SELECT `main_table`.* FROM `sales_order_grid` AS `main_table` WHERE (`customer_email` LIKE '%jo%') ORDER BY entity_id DESC LIMIT 20"},
		{"Magento: index emptied", "mysql", "DELETE FROM `catalog_product_index_price_tmp`"},
		{"Power BI: nested", "", direct(7)},
		{"Power BI: slicer search", "", "SELECT TOP (101) [t0].[Name] FROM [dbo].[Product] AS [t0] WHERE ([t0].[Name] LIKE N'%lamp%') GROUP BY [t0].[Name] ORDER BY [t0].[Name] ASC"},
		{"Metabase: contains", "postgres", `SELECT "source"."state" AS "state", COUNT(*) AS "count" FROM (SELECT "public"."people"."state" AS "state", "public"."people"."name" AS "name" FROM "public"."people") AS "source" WHERE LOWER("source"."name") LIKE '%jo%' GROUP BY "source"."state" ORDER BY "source"."state" ASC`},
		{"Metabase: rows", "mysql", "SELECT `people`.`id` FROM `people` WHERE LOWER(`people`.`name`) LIKE '%jo%' LIMIT 2000"},
		{"Kibana: wildcard of minutes", "POST /logs-*/_search", fmt.Sprintf(recentLogs, `{"query_string":{"query":"message:*timeout*","analyze_wildcard":true}}`)},
		{"Kibana: KQL wildcard of minutes", "POST /logs-*/_search", fmt.Sprintf(recentLogs, `{"bool":{"should":[{"wildcard":{"url.path":{"value":"*timeout*"}}}],"minimum_should_match":1}}`)},
		{"Kibana: free text of minutes", "POST /logs-*/_search", fmt.Sprintf(recentLogs, `{"query_string":{"query":"*timeout*","analyze_wildcard":true,"fields":["message"]}}`)},
		{"Grafana: SQL of a panel", "postgres", `SELECT floor(extract(epoch from "time")/300)*300 AS "time", host AS metric, avg(value) AS "value" FROM metrics WHERE "time" BETWEEN '2024-05-01T10:00:00Z' AND '2024-05-01T16:00:00Z' AND host IN ('a','b') GROUP BY 1, 2 ORDER BY 1`},
		{"Grafana: SQL of a variable", "mysql", "SELECT DISTINCT host FROM metrics WHERE host LIKE '%web%' ORDER BY host"},
		{"Grafana: panel of logs", "POST /logs-*/_search", `{"size":0,"query":{"bool":{"filter":[{"range":{"@timestamp":{"gte":1714557600000,"lte":1714579200000,"format":"epoch_millis"}}},{"query_string":{"analyze_wildcard":true,"query":"level:error AND service:web*"}}]}},"aggs":{"3":{"terms":{"field":"host.keyword","size":10,"order":{"_key":"desc"},"min_doc_count":1},"aggs":{"2":{"date_histogram":{"fixed_interval":"5m","field":"@timestamp","min_doc_count":0,"extended_bounds":{"min":1714557600000,"max":1714579200000},"format":"epoch_millis"}}}}}}`},
		{"Grafana: values of a variable", "POST /logs-*/_search", `{"size":0,"query":{"bool":{"filter":[{"range":{"@timestamp":{"gte":1714557600000,"lte":1714579200000,"format":"epoch_millis"}}}]}},"aggs":{"1":{"terms":{"field":"host.keyword","size":500,"order":{"_key":"asc"}}}}}`},
		{"Kibana: Lens", "POST /logs-*/_search", `{"size":0,"track_total_hits":false,"runtime_mappings":{},"query":{"bool":{"must":[],"filter":[{"range":{"@timestamp":{"gte":"2024-04-01T00:00:00.000Z","lte":"2024-05-01T00:00:00.000Z"}}}]}},"aggs":{"0":{"terms":{"field":"geo.dest","order":{"_count":"desc"},"size":9,"shard_size":25},"aggs":{"1":{"date_histogram":{"field":"@timestamp","calendar_interval":"1d","time_zone":"Europe/Berlin"},"aggs":{"2":{"percentiles":{"field":"bytes","percents":[50,95,99]}}}}}}}}`},
		{"Kibana: Discover", "POST /logs-*/_search", `{"track_total_hits":false,"sort":[{"@timestamp":{"order":"desc","format":"strict_date_optional_time","unmapped_type":"boolean"}},{"_doc":{"order":"desc","unmapped_type":"boolean"}}],"fields":[{"field":"*","include_unmapped":true}],"size":500,"version":true,"_source":false,"query":{"bool":{"must":[],"filter":[{"range":{"@timestamp":{"gte":"now-7d","lte":"now"}}},{"match_phrase":{"service":"web"}}],"should":[],"must_not":[]}},"highlight":{"pre_tags":["@k@"],"post_tags":["@/k@"],"fields":{"*":{}},"fragment_size":2147483647}}`},
		{"Kibana: values of a control", "POST /logs-*/_search", `{"size":0,"aggs":{"suggestions":{"terms":{"field":"service.keyword","include":"we.*","execution_hint":"map","size":10,"shard_size":10}},"unique_terms":{"cardinality":{"field":"service.keyword"}}}}`},
		{"Metabase: join and breakout", "postgres", `SELECT DATE_TRUNC('month', "public"."orders"."created_at") AS "created_at", "Products"."category" AS "Products__category", SUM("public"."orders"."total") AS "sum" FROM "public"."orders" LEFT JOIN "public"."products" AS "Products" ON "public"."orders"."product_id" = "Products"."id" WHERE "public"."orders"."created_at" >= CAST('2024-01-01' AS timestamp) GROUP BY DATE_TRUNC('month', "public"."orders"."created_at"), "Products"."category" ORDER BY DATE_TRUNC('month', "public"."orders"."created_at") ASC, "Products"."category" ASC`},
		{"Metabase: values of a field", "postgres", `SELECT "public"."people"."state" AS "state" FROM "public"."people" GROUP BY "public"."people"."state" ORDER BY "public"."people"."state" ASC LIMIT 1001`},
		{"Superset: virtual table", "postgres", `SELECT DATE_TRUNC('day', ts) AS __timestamp, country AS country, COUNT(*) AS count FROM (SELECT * FROM visits WHERE ts > '2024-01-01') AS virtual_table JOIN (SELECT country AS country__, COUNT(*) AS mme_inner__ FROM (SELECT * FROM visits WHERE ts > '2024-01-01') AS virtual_table GROUP BY country ORDER BY mme_inner__ DESC LIMIT 25) AS series_limit ON country = country__ GROUP BY DATE_TRUNC('day', ts), country ORDER BY count DESC LIMIT 10000`},
		{"Tableau: measure", "postgres", `SELECT "orders"."region" AS "region", SUM("orders"."sales") AS "sum:sales:ok" FROM "public"."orders" "orders" GROUP BY 1 HAVING (COUNT(1) > 0)`},
		{"Power BI: dimension of a star", "", "SELECT TOP (1000001) [t1].[Category], SUM([t0].[Amount]) AS [a0] FROM ([dbo].[Sales] AS [t0] LEFT OUTER JOIN [dbo].[Product] AS [t1] ON ([t0].[ProductKey] = [t1].[ProductKey])) WHERE [t0].[Year] IN (2023, 2024) GROUP BY [t1].[Category]"},
		{"Hibernate: page with a fetch join", "postgres", `select o1_0.id,o1_0.total,l1_0.order_id,l1_0.id,l1_0.sku from orders o1_0 left join line l1_0 on o1_0.id=l1_0.order_id where o1_0.customer_id=? order by o1_0.created_at desc`},
		{"Hibernate: inheritance", "mysql", "select p1_0.id,case when p1_1.id is not null then 1 when p1_2.id is not null then 2 when p1_0.id is not null then 0 end,p1_0.name,p1_1.iban,p1_2.card from payment p1_0 left join transfer p1_1 on p1_0.id=p1_1.id left join card p1_2 on p1_0.id=p1_2.id where p1_0.order_id=?"},
		{"Prisma: count and page", "postgres", `SELECT COUNT(*) FROM (SELECT "public"."User"."id" FROM "public"."User" WHERE "public"."User"."name"::text ILIKE '%jo%' OFFSET 0) AS "sub"`},
		{"Kibana: relative range", "POST /logs-*/_search", `{"size":500,"query":{"bool":{"filter":[{"range":{"@timestamp":{"gte":"now-15m","lt":"now"}}},{"wildcard":{"message":"*timeout*"}}]}}}`},
	}
}

func (q toolQuery) query(t *testing.T) Query {
	t.Helper()
	out := Query{Kind: SQL, Dialect: q.request, Body: []byte(q.text)}
	if strings.HasPrefix(q.request, "POST ") {
		out.Kind, out.Dialect = Elasticsearch, ""
		if err := out.SetRequest(q.request); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// TestOrdinaryTools: what tools send every day goes on, as it is.
func TestOrdinaryTools(t *testing.T) {
	for _, profile := range []Profile{ProfileDefault, ProfileLenient} {
		g := withProfile(t, profile, &HintStore{})
		for _, q := range ordinaryTools() {
			if v := check(g, q.query(t)); v.Verdict != Accepted && v.Verdict != Reported {
				t.Errorf("%s, %s: %s %v", profile, q.tool, v.Verdict, v.Findings)
			}
		}
	}
}

// TestObjectMappers: the queries that Django 3.2 (its admin pages too), Rails 6.1, SQLAlchemy 1.4,
// Sequelize 6.37, TypeORM 1.1.1 and Knex 3.3.0 made when they ran on small models of ours.
func TestObjectMappers(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("testdata", "ormqueries.ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	g := withProfile(t, ProfileDefault, &HintStore{})
	tools := map[string]int{}
	for d := json.NewDecoder(bytes.NewReader(b)); d.More(); {
		var q struct{ Tool, Dialect, Text string }
		if err := d.Decode(&q); err != nil {
			t.Fatal(err)
		}
		tools[q.Tool]++
		if v := check(g, Query{Kind: SQL, Dialect: q.Dialect, Body: []byte(q.Text)}); v.Verdict != Accepted && v.Verdict != Reported {
			t.Errorf("%s: %s %v\n%s", q.Tool, v.Verdict, v.Findings, q.Text)
		}
	}
	if len(tools) != 6 {
		t.Errorf("there are queries of %v", tools)
	}
}

// TestProfiles: what each profile refuses.
func TestProfiles(t *testing.T) {
	hints, _, err := ParseHints("hints.yaml", []byte("events: {docs: 80M}\n"))
	if err != nil {
		t.Fatal(err)
	}
	store := &HintStore{}
	if err := store.Set(Static, hints, time.Now()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text   string
		reject string // the profiles that do
	}{
		{"SELECT * FROM users WHERE name LIKE '%x%'", "strict"},
		{"SELECT * FROM events WHERE name LIKE '%x%'", "lenient default strict"},
		{"SELECT count(*) FROM events WHERE name LIKE '%x%' LIMIT 10", "lenient default strict"},
		{"SELECT * FROM events WHERE name LIKE '%x%' ORDER BY id DESC LIMIT 100", "strict"},
		{"SELECT * FROM a JOIN b ON a.name LIKE '%' || b.name || '%'", "lenient default strict"},
		{"SELECT * FROM a LEFT JOIN b ON a.name LIKE '%' || b.name || '%'", "lenient default strict"},
		{"SELECT * FROM a FULL JOIN b ON LOWER(a.name) LIKE CONCAT('%', b.name)", "lenient default strict"},
		{"SELECT * FROM a LEFT JOIN LATERAL (SELECT * FROM b WHERE b.name LIKE '%' || a.name || '%') x ON true", "lenient default strict"},
		{"SELECT * FROM a WHERE EXISTS (SELECT 1 FROM b WHERE a.name LIKE '%' || b.name || '%')", "lenient default strict"},
		{"SELECT * FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.a_id = a.id AND a.name LIKE '%' || b.name || '%')", ""},
		{"SELECT * FROM a LEFT JOIN b ON b.a_id = a.id AND a.name LIKE '%' || b.name || '%'", ""},
		{"DELETE FROM cache", "strict"},
		{"DELETE FROM cache WHERE 1 = 1", "default strict"},
		{"UPDATE users SET active = 1", "default strict"},
		{"SELECT * FROM t WHERE id IN (" + ids(1500) + ")", "strict"},
		{"SELECT * FROM t WHERE id IN (" + ids(20_000) + ")", "default strict"},
		{eav(25), "strict"},
		{eav(70), "default strict"},
		{direct(7), "strict"},
		{direct(14), "default strict"},
		{"SELECT * FROM a, b", "lenient default strict"},
		{"SELECT pg_sleep(100)", "lenient default strict"},
	} {
		var got []string
		for _, p := range Profiles() {
			g := withProfile(t, p, store)
			if v := check(g, Query{Kind: SQL, Body: []byte(c.text)}); v.Verdict == Rejected {
				got = append(got, string(p))
			}
		}
		if s := strings.Join(got, " "); s != c.reject {
			t.Errorf("%.80s: rejected by %q, want %q", c.text, s, c.reject)
		}
	}
	if _, err := ParseLimits("l.yaml", []byte("profile: strikt\n")); err == nil || !strings.Contains(err.Error(), "lenient, default or strict") {
		t.Errorf("a profile that is none: %v", err)
	}
}
