package sql_test

import (
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// TestHarmful: what brings databases down is seen, however it is written.
func TestHarmful(t *testing.T) {
	run(t, cost.Options{Explain: true}, []check{
		// Writes of every row.
		{text: "DELETE FROM t", want: "missing_where"},
		{text: "delete from t;", want: "missing_where"},
		{text: "DELETE t", want: "missing_where"},
		{text: "UPDATE t SET a = 1", want: "missing_where"},
		{text: "UPDATE t SET a = (SELECT max(x) FROM s WHERE s.id = t.id)", want: "missing_where"},
		{text: "UPDATE ONLY t AS x SET a = 1 RETURNING *", dialect: "pg", want: "missing_where"},
		{text: "UPDATE LOW_PRIORITY IGNORE t SET a = 1 ORDER BY id", dialect: "mysql", want: "missing_where"},
		{text: "DELETE FROM t WHERE 1=1", want: "missing_where"},
		{text: "DELETE FROM t WHERE 1", want: "missing_where"},
		{text: "DELETE FROM t WHERE true", want: "missing_where"},
		{text: "DELETE FROM t WHERE ((1 = 1))", want: "missing_where"},
		{text: "DELETE FROM t WHERE NOT (1 = 2)", want: "missing_where"},
		{text: "DELETE FROM t WHERE NOT false", want: "missing_where"},
		{text: "DELETE FROM t WHERE id = id", want: "missing_where"},
		{text: "DELETE FROM t WHERE t.id = t.id", want: "missing_where"},
		{text: "DELETE FROM t WHERE id = 4 OR 1=1", want: "missing_where"},
		{text: "DELETE FROM t WHERE id = '' OR ''=''", want: "missing_where"},
		{text: "DELETE FROM t WHERE 'a' = 'a' AND 2 > 1", want: "missing_where"},
		{text: "DELETE FROM t WHERE 1 IN (1, 2)", want: "missing_where"},
		{text: "DELETE FROM t WHERE 2 BETWEEN 1 AND 3", want: "missing_where"},
		{text: "DELETE FROM t WHERE NULL IS NULL", want: "missing_where"},
		{text: "DELETE FROM t WHERE name LIKE '%'", want: "missing_where"},
		{text: "DELETE FROM t -- WHERE id = 4", want: "missing_where"},
		{text: "DELETE FROM t # WHERE id = 4", dialect: "mysql", want: "missing_where"},
		{text: "DELETE FROM t /* WHERE id = 4 */", want: "missing_where"},
		{text: "DELETE FROM t /*!99999 WHERE id = 4 */", dialect: "mysql", want: "missing_where"},
		{text: "/*!50000 DELETE FROM t */", dialect: "mysql", want: "missing_where"},
		{text: "/*!50000 DELETE /*! FROM t */", dialect: "mysql", want: "missing_where"},             // the first */ ends both
		{text: "DELETE FROM t WHERE id = 5 OR /*!5 = 5 */", dialect: "mysql", want: "missing_where"}, // no version has one digit
		{text: "DELETE a FROM a LEFT JOIN b ON a.id = b.a_id", dialect: "mysql", want: "missing_where"},
		{text: "MERGE INTO t USING s ON 1=1 WHEN MATCHED THEN DELETE", want: "cross_join missing_where"},
		{text: "WITH x AS (DELETE FROM t RETURNING *) SELECT count(*) FROM x", dialect: "pg", want: "missing_where"},
		{text: "EXPLAIN ANALYZE DELETE FROM t", dialect: "pg", want: "missing_where"},
		{text: "SELECT 1; DELETE FROM t; SELECT 2", want: "missing_where multi_statement"},
		{text: "PREPARE p AS DELETE FROM t", dialect: "pg", want: "missing_where"},
		{text: "UPDATE t SET a = 1 WHERE 1 = ?", args: []any{int64(1)}, want: "missing_where"},

		{text: "DELETE FROM t WHERE coalesce(1, 0) = 1", want: "missing_where"},
		{text: "DELETE FROM t WHERE 1 = 1 + 0", want: "missing_where"},
		{text: "DELETE FROM t WHERE (SELECT true)", want: "missing_where"},
		{text: "DELETE FROM t WHERE EXISTS (SELECT 1)", want: "missing_where"},
		{text: "DELETE FROM t WHERE now() > '2020-01-01'", want: "missing_where"},
		{text: "DELETE FROM t WHERE @@version IS NOT NULL", dialect: "mysql", want: "missing_where"},
		{text: "DELETE FROM t WHERE id = t.id", want: "missing_where"},
		{text: "DELETE FROM t WHERE id >= id", want: "missing_where"},
		{text: "DELETE FROM t WHERE id = 1 || 1", dialect: "mysql", want: "missing_where"},
		{text: "DELETE FROM t WHERE (1 = 1) IS TRUE", want: "missing_where"},

		// Patterns that begin with anything.
		{text: "SELECT * FROM t WHERE name LIKE '%x'", want: "leading_wildcard"},
		{text: "SELECT * FROM t WHERE name ILIKE '%x%'", dialect: "pg", want: "leading_wildcard"},
		{text: "SELECT * FROM t WHERE name LIKE '_x%'", want: "leading_wildcard"},
		{text: "SELECT * FROM t WHERE lower(name) LIKE '%x%'", want: "leading_wildcard"},
		{text: "SELECT * FROM t WHERE name NOT LIKE '%x%'", want: "non_sargable"},
		{text: "SELECT * FROM t WHERE NOT name LIKE '%x%'", want: "non_sargable"},
		{text: "SELECT * FROM t WHERE name LIKE '%' || $1 || '%'", dialect: "pg", want: "leading_wildcard"},
		{text: "SELECT * FROM t WHERE name LIKE CONCAT('%', ?, '%')", dialect: "mysql", want: "leading_wildcard"},
		{text: "SELECT * FROM t WHERE name LIKE CONCAT('%', other.name)", dialect: "mysql", want: "leading_wildcard"},
		{text: "SELECT * FROM t WHERE name LIKE \"%x\"", dialect: "mysql", want: "leading_wildcard"},
		{text: "SELECT * FROM t WHERE name LIKE \"%x\"", want: "leading_wildcard"},
		{text: "SELECT * FROM t WHERE name LIKE E'\\x25x'", dialect: "pg", want: "leading_wildcard"},
		{text: "SELECT * FROM t WHERE name LIKE U&'\\0025x'", dialect: "pg", want: "leading_wildcard"},
		{text: "SELECT * FROM t WHERE name LIKE N'%x'", want: "leading_wildcard"},
		{text: "SELECT * FROM t WHERE name LIKE $$%x$$", dialect: "pg", want: "leading_wildcard"},
		{text: "SELECT * FROM t WHERE name ~~ '%x'", dialect: "pg", want: "leading_wildcard"},
		{text: "SELECT * FROM t WHERE name ~~* '%x'", dialect: "pg", want: "leading_wildcard"},
		{text: "SELECT * FROM t WHERE name SIMILAR TO '%(a|b)%'", dialect: "pg", want: "leading_wildcard"},
		{text: "SELECT * FROM t WHERE name LIKE ANY (ARRAY['a%', '%b'])", dialect: "pg", want: "leading_wildcard"},
		{text: "SELECT * FROM t WHERE name GLOB '*x'", want: "leading_wildcard"},
		{text: "SELECT * FROM t WHERE name LIKE '%x' AND deleted_at IS NULL", want: "leading_wildcard"},
		{text: "SELECT * FROM t WHERE name LIKE '%x' AND kind <> 'a'", want: "leading_wildcard"},
		{text: "SELECT * FROM t WHERE name LIKE '%x' AND 1=1", want: "leading_wildcard"},
		{text: "SELECT * FROM t WHERE name LIKE '%x' OR shop_id = 4", want: "leading_wildcard"},
		{text: "SELECT * FROM t WHERE name LIKE '%x' AND id > 0", want: "leading_wildcard"},
		{text: "SELECT count(*) FROM orders o JOIN customers c ON c.id = o.customer_id WHERE c.name LIKE '%x%'", want: "leading_wildcard"},
		{text: "SELECT * FROM a WHERE a.id = 4 AND a.x IN (SELECT x FROM b WHERE name LIKE '%x%')", want: "leading_wildcard"},
		{text: "SELECT * FROM a WHERE id = 4 UNION SELECT * FROM b WHERE name LIKE '%x'", want: "leading_wildcard"},
		{text: "UPDATE t SET a = 1 WHERE name LIKE '%x'", want: "leading_wildcard"},
		{text: "SELECT * FROM t WHERE name LIKE 0x2578", dialect: "mysql", want: "leading_wildcard"},
		{text: "SELECT * FROM t WHERE name LIKE _utf8mb4'%x'", dialect: "mysql", want: "leading_wildcard"},
		{text: "SELECT * FROM t WHERE (name LIKE '%x') IS TRUE", want: "leading_wildcard"},
		{text: "SELECT * FROM t WHERE (name LIKE '%x') = 1", dialect: "mysql", want: "leading_wildcard"},
		{text: "SELECT kind, count(*) FROM t WHERE name LIKE '%x%' GROUP BY kind", want: "leading_wildcard"},
		{text: "SELECT kind, count(*) FROM a JOIN b ON a.id = b.a_id JOIN c ON b.id = c.b_id WHERE a.name LIKE '%' || $1 GROUP BY kind", want: "leading_wildcard"},
		{text: "SELECT * FROM t WHERE name LIKE ? AND a <> ?", args: []any{[]byte("%x"), int64(4)}, want: "leading_wildcard"},
		{text: "SELECT * FROM t WHERE id = 4 AND name LIKE 'a%b%c%d%e%'", want: "like_wildcards"},
	})
}

// TestHarmfulShapes: joins, lists, pages, calls, and what is worth a report.
func TestHarmfulShapes(t *testing.T) {
	run(t, cost.Options{Explain: true}, []check{
		// Joins.
		{text: "SELECT * FROM a, b", want: "cross_join"},
		{text: "SELECT u.id, g.i FROM users u CROSS JOIN generate_series(1, 100000) AS g(i)", dialect: "pg", want: "cross_join"},
		{text: "SELECT u.id, g.i FROM users u CROSS JOIN (SELECT generate_series(1, 100000) AS i) g", dialect: "pg", want: "cross_join"},
		{text: "SELECT * FROM (SELECT DISTINCT * FROM a) x CROSS JOIN (SELECT DISTINCT * FROM b) y", want: "cross_join"},
		{text: "SELECT id FROM partners WHERE active = true AND name ILIKE '%x%'", dialect: "pg", want: "leading_wildcard"},
		{text: "SELECT * FROM (SELECT * FROM posts WHERE deleted_at IS NULL) p WHERE p.title LIKE '%x%'", want: "leading_wildcard"},
		{text: "SELECT * FROM a CROSS JOIN b", want: "cross_join"},
		{text: "SELECT * FROM (SELECT * FROM a LIMIT -1) x, b", want: "cross_join"},
		{text: "SELECT * FROM a JOIN b", dialect: "mysql", want: "cross_join"},
		{text: "SELECT * FROM a JOIN b ON true", want: "cross_join"},
		{text: "SELECT * FROM a JOIN b ON 1=1 WHERE a.x > 5", want: "cross_join"},
		{text: "SELECT * FROM a JOIN b ON a.x < b.x", want: "cross_join"},
		{text: "SELECT * FROM a JOIN b ON a.x <> b.x", want: "cross_join"},
		{text: "SELECT * FROM a, b, c WHERE a.id = b.a_id", want: "cross_join"},
		{text: "SELECT * FROM a, b WHERE a.id = b.a_id OR a.x = 4", want: "cross_join"},
		{text: "SELECT * FROM a, b WHERE NOT (a.id = b.a_id)", want: "cross_join"},
		{text: "SELECT count(*) FROM a, a AS b WHERE a.x = 4 AND b.x = 4", want: "cross_join"},
		{text: "UPDATE a SET x = 1 FROM b WHERE a.y = 4", dialect: "pg", want: "cross_join"},
		{text: "SELECT * FROM (SELECT * FROM a, b) x WHERE x.id = 1", want: "cross_join"},
		{text: "WITH x AS (SELECT * FROM a), y AS (SELECT * FROM b) SELECT * FROM x, y", want: "cross_join"},
		{text: "select * from t1 join t2 on t1.id=t2.id join t3 on t2.id=t3.id join t4 on t3.id=t4.id join t5 on t4.id=t5.id join t6 on t5.id=t6.id join t7 on t6.id=t7.id join t8 on t7.id=t8.id join t9 on t8.id=t9.id", want: "join_count"},

		{text: "SELECT * FROM a, LATERAL (SELECT * FROM b) x", dialect: "pg", want: "cross_join"},
		{text: "SELECT * FROM a JOIN b ON b.active = true", want: "cross_join"},
		{text: "SELECT * FROM a, (SELECT kind, count(*) FROM b GROUP BY kind) x", want: "cross_join"},

		// Lists, pages, depth.
		{text: "SELECT * FROM t WHERE " + strings.Repeat("id = 1 OR ", 1000) + "id = 2", want: "in_list"},
		{text: "SELECT * FROM t ORDER BY id LIMIT 10 OFFSET (20 * 1000)", want: "offset"},
		{text: "SELECT * FROM t WHERE id IN (" + list(1001) + ")", want: "in_list"},
		{text: "SELECT * FROM t WHERE id NOT IN (" + list(1001) + ")", want: "in_list"},
		{text: "SELECT * FROM t WHERE id = ANY(ARRAY[" + list(1001) + "])", dialect: "pg", want: "in_list"},
		{text: "SELECT * FROM t WHERE id = ANY($1)", dialect: "pg", args: []any{make([]int64, 1001)}, want: "in_list"},
		{text: "SELECT * FROM t WHERE id = ANY('{" + list(1001) + "}')", dialect: "pg", want: "in_list"},
		{text: "SELECT * FROM t JOIN (VALUES (1)" + strings.Repeat(",(1)", 1000) + ") v(id) ON v.id = t.id", dialect: "pg", want: "in_list"},
		{text: "SELECT * FROM t ORDER BY id LIMIT 10 OFFSET 179500", want: "offset"},
		{text: "SELECT * FROM t ORDER BY id LIMIT 1000000, 10", dialect: "mysql", want: "offset"},
		{text: "SELECT * FROM t ORDER BY id OFFSET 50000 ROWS FETCH NEXT 10 ROWS ONLY", want: "offset"},
		{text: "SELECT * FROM t ORDER BY id LIMIT $1 OFFSET $2", dialect: "pg", args: []any{int64(10), int64(99999)}, want: "offset"},
		{text: "SELECT * FROM t ORDER BY id LIMIT ? OFFSET ?", args: []any{10, uint32(99999)}, want: "offset"},
		{text: nestedQueries(7), want: "subquery_depth"},

		// Calls.
		{text: "SELECT SLEEP(10)", dialect: "mysql", want: "denied_function"},
		{text: "SELECT sleep/**/(10)", dialect: "mysql", want: "denied_function"},
		{text: "SELECT /*!sleep(10)*/", dialect: "mysql", want: "denied_function"},
		{text: "SELECT pg_catalog.pg_sleep(10)", dialect: "pg", want: "denied_function"},
		{text: "SELECT \"pg_sleep\"(10)", dialect: "pg", want: "denied_function"},
		{text: "SELECT * FROM pg_sleep(10)", dialect: "pg", want: "denied_function"},
		{text: "SELECT * FROM t WHERE id = 1 AND 0 = BENCHMARK(1e9, MD5('a'))", dialect: "mysql", want: "denied_function"},
		{text: "SELECT * FROM t WHERE id = IF(1=1, SLEEP(5), 0)", dialect: "mysql", want: "denied_function"},
		{text: "SELECT * FROM t WHERE id = 1 ORDER BY (SELECT SLEEP(5))", dialect: "mysql", want: "denied_function"},
		{text: "SELECT * FROM dblink('dbname=x', 'SELECT 1') AS t(a int)", dialect: "pg", want: "denied_function"},
		{text: "INSERT INTO t VALUES (sleep(5))", dialect: "mysql", want: "denied_function"},
		{text: "UPDATE t SET a = sleep(5) WHERE id = 4", dialect: "mysql", want: "denied_function"},
		{text: "DELETE FROM t WHERE id = 1 RETURNING pg_sleep(5)", dialect: "pg", want: "denied_function"},
		{text: "DO $$ BEGIN PERFORM pg_sleep(10); END $$", dialect: "pg", want: "denied_function"},
		{text: "DO SLEEP(5)", dialect: "mysql", want: "denied_function"},
		{text: "CALL p(sleep(5))", dialect: "mysql", want: "denied_function"},
		{text: "SET @a = SLEEP(5)", dialect: "mysql", want: "denied_function"},
		{text: "WAITFOR DELAY '0:0:5'", want: "denied_function"},
		{text: "SELECT a.id FROM posts ARRAY JOIN tags AS a, users", dialect: "mysql", want: "cross_join"},
		{text: "DELETE FROM t prewhere", want: "missing_where unparsable"},
		{text: "SELECT 1; IF (1=1) WAITFOR DELAY '0:0:5'--", want: "denied_function multi_statement"},
		{text: "IF 1 = (SELECT COUNT(*) FROM u WHERE id = 1) WAITFOR DELAY '0:0:5'", want: "denied_function"},
		{text: "LOAD DATA INFILE 'data.txt' INTO TABLE t", dialect: "mysql", want: "denied_function"},
		{text: "COPY t FROM '/etc/passwd'", dialect: "pg", want: "denied_function"},
		{text: "COPY (SELECT * FROM t WHERE id = 1) TO '/tmp/x' CSV", dialect: "pg", want: "denied_function"},
		{text: "SELECT 'x' INTO OUTFILE '/tmp/x'", dialect: "mysql", want: "denied_function"},
		{text: "SELECT * FROM t WHERE id = 1 INTO DUMPFILE '/tmp/x'", dialect: "mysql", want: "denied_function"},
		{text: "COPY t FROM PROGRAM 'cat /etc/passwd'", dialect: "pg", want: "denied_function"},
		{text: "EXEC xp_cmdshell('dir')", want: "denied_function"},

		// What is worth a report.
		{text: "SELECT * FROM t WHERE lower(email) = 'a'", want: "non_sargable"},
		{text: "SELECT * FROM t WHERE a + 1 = 5", want: "non_sargable"},
		{text: "SELECT * FROM t WHERE date(at) = '2026-01-01'", want: "non_sargable"},
		{text: "SELECT * FROM t WHERE at::date = '2026-01-01'", dialect: "pg", want: "non_sargable"},
		{text: "SELECT * FROM t WHERE CAST(a AS char) = '5'", want: "non_sargable"},
		{text: "SELECT * FROM t WHERE extract(year from at) = 2026", want: "non_sargable"},
		{text: "SELECT * FROM t WHERE year(at) BETWEEN 2025 AND 2026", want: "non_sargable"},
		{text: "SELECT * FROM t WHERE substring(name, 1, 3) = 'abc'", want: "non_sargable"},
		{text: "SELECT * FROM t WHERE coalesce(a, 0) IN (1, 2)", want: "non_sargable"},
		{text: "SELECT * FROM a WHERE EXISTS (SELECT 1 FROM b WHERE date_trunc('day', b.at)::date = a.day)", dialect: "pg", want: "non_sargable"},
		{text: "SELECT * FROM t WHERE id = 4 ORDER BY RAND()", dialect: "mysql", want: "sort"},
		{text: "SELECT * FROM t WHERE id = 4 ORDER BY random() LIMIT 1", dialect: "pg", want: "sort"},
		{text: "SELECT * FROM t WHERE id = 4 ORDER BY md5(random()::text)", dialect: "pg", want: "sort"},
		{text: "SELECT * FROM t WHERE name ~ '^a'", dialect: "pg", want: "regex"},
		{text: "SELECT * FROM t WHERE name !~* 'a+'", dialect: "pg", want: "regex"},
		{text: "SELECT * FROM t WHERE name REGEXP 'a+$' AND id = 3", dialect: "mysql", want: "regex"},
		{text: "SELECT * FROM t WHERE REGEXP_LIKE(name, 'abc') AND id = 3", dialect: "mysql", want: "regex"},
		{text: "SELECT * FROM t WHERE name RLIKE '(a+)+$'", dialect: "mysql", want: "regex regex_exponential"},
		{text: "SELECT REGEXP_REPLACE(name, '^(a|a)*$', '') FROM t WHERE id = 1", dialect: "mariadb", want: "regex_exponential"},
		{text: "SELECT * FROM t WHERE name ~ '((a{100}){100}){100}'", dialect: "pg", want: "regex regex_states"},
		{text: "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT * FROM r", want: "generated recursive"},
		{text: "SELECT 1; SELECT 2", want: "multi_statement"},
		{text: "SELECT * FROM t WHERE substring(phone from 1 for 2) IN ('13', '31')", want: "non_sargable"},
		{text: "SELECT a FROM t1, t2 JOIN t3 ON t1.a = t2.a, t1.c = t3.c WHERE id > 1000", want: "unparsable"},
		{text: "SELEC 1", want: "unparsable"},
		{text: "SELECT (1", want: "unparsable"},
		{text: "SELECT 1)", want: "unparsable"},
		{text: "SELECT 'a", want: "unparsable"},
		{text: "SELECT /* a", want: "unparsable"},
		{text: "SELECT $a$ x", dialect: "pg", want: "unparsable"},
		{text: "PREPARE p FROM 'DELETE FROM t'", dialect: "mysql", want: "missing_where"},
		{text: "UPDATE t SET a = 'x", want: "unparsable"}, // and no missing WHERE: it may have been cut off
		{text: "DELETE FROM t; SELECT 'x", want: "missing_where unparsable"},
	})
}

func list(n int) string { return strings.TrimSuffix(strings.Repeat("1,", n), ",") }

func nestedQueries(n int) string {
	return strings.Repeat("SELECT * FROM t WHERE id IN (", n-1) + "SELECT 1" + strings.Repeat(")", n-1)
}

// TestDeniedByName: a guard may refuse more functions.
func TestDeniedByName(t *testing.T) {
	run(t, cost.Options{Denied: map[string]struct{}{"slow_report": {}}}, []check{
		{text: "SELECT app.Slow_Report(1)", want: "denied_function"},
		{text: "SELECT slow_report FROM t WHERE id = 1"},
	})
}
