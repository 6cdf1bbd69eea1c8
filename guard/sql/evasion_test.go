package sql_test

import (
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// TestAlwaysTrue: a WHERE that leaves out no row is none, however it is written.
func TestAlwaysTrue(t *testing.T) {
	run(t, cost.Options{Explain: true}, []check{
		{text: "DELETE FROM t WHERE id IS NOT NULL", want: "missing_where"},
		{text: "DELETE FROM t WHERE id > 0", want: "missing_where"},
		{text: "DELETE FROM t WHERE `id` > -1", dialect: "mysql", want: "missing_where"},
		{text: "DELETE FROM t WHERE 0 < id", want: "missing_where"},
		{text: "DELETE FROM t WHERE 1 <= id", want: "missing_where"},
		{text: "DELETE FROM t WHERE -1 <> id", want: "missing_where"},
		{text: "DELETE FROM t WHERE NOT (id < 0)", want: "missing_where"},
		{text: "DELETE FROM t WHERE NOT (id <= 0 OR 1 > id)", want: "missing_where"},
		{text: "DELETE FROM t WHERE 5000 > id"},
		{text: "DELETE FROM t WHERE NOT (id < 0 OR age > 5)"},
		{text: "DELETE FROM t WHERE NOT (id > 0)"},
		{text: "DELETE FROM t WHERE id < 1"},
		{text: "DELETE FROM t WHERE id = ANY (SELECT id FROM t)", want: "missing_where"},
		{text: "DELETE FROM t WHERE id = ANY (SELECT id FROM t WHERE old = 1)"},
		{text: "DELETE FROM t WHERE id = ANY (SELECT t_id FROM u WHERE old = 1)"},
		{text: "UPDATE t SET a = 1 WHERE id >= 1", want: "missing_where"},
		{text: "UPDATE t SET a = 1 WHERE id <> 0", want: "missing_where"},
		{text: "UPDATE t SET a = 1 WHERE id != ''", want: "missing_where"},
		{text: "UPDATE t SET a = 1 WHERE a = 5 OR a <> 5", want: "missing_where"},
		{text: "UPDATE t SET a = 1 WHERE a IS NULL OR a IS NOT NULL", want: "missing_where"},
		{text: "UPDATE t SET a = 1 WHERE (age < 18) OR (age >= 18)", want: "missing_where"},
		{text: "DELETE FROM t WHERE done OR NOT done", want: "missing_where"},
		{text: "DELETE FROM t WHERE name LIKE 'a%' OR NOT (name LIKE 'a%')", want: "missing_where"},
		{text: "DELETE FROM t WHERE name LIKE 'a%' OR name NOT LIKE 'a%'", want: "missing_where"},
		{text: "DELETE FROM t WHERE id IN (SELECT id FROM t)", want: "missing_where"},
		{text: "DELETE FROM t WHERE id IN (SELECT id FROM (SELECT t.id FROM t) AS x)", dialect: "mysql", want: "missing_where"},
		{text: "DELETE FROM t WHERE EXISTS (SELECT 1 FROM t)", want: "missing_where"},
		{text: "DELETE FROM t WHERE (SELECT count(*) FROM t) > 0", want: "missing_where"},
		{text: "DELETE FROM t WHERE lower(name) = lower(name)", want: "missing_where non_sargable"},
		{text: "DELETE FROM t WHERE id = 5 OR $1 = $1", dialect: "pg", want: "missing_where"},
		{text: "DELETE FROM t WHERE id = 5 OR 1 + 1 = 2", want: "missing_where"},
		{text: "DELETE FROM t WHERE id = 5 OR 2 > 3 - 2", want: "missing_where"},
		{text: "DELETE FROM t WHERE id = 5 OR -1", dialect: "mysql", want: "missing_where"},
		{text: "DELETE FROM t WHERE id = 5 OR 'a' < 'b'", want: "missing_where"},
		{text: "DELETE FROM t WHERE id = 5 OR 'x' LIKE 'x'", want: "missing_where"},
		{text: "DELETE FROM t WHERE id = 5 OR EXISTS (SELECT 1)", want: "missing_where"},
		{text: "DELETE FROM t WHERE id = 3 OR 10 % 3 = 1", want: "missing_where"},
		{text: "DELETE FROM t WHERE id = 3 OR 2 * 7 % 4 = 2", want: "missing_where"},
		{text: "DELETE FROM t WHERE id BETWEEN id AND id", want: "missing_where"},
		{text: "DELETE FROM t WHERE id BETWEEN low AND high"},
		{text: "DELETE FROM t WHERE (1 = 2) IS FALSE", want: "missing_where"},
		{text: "DELETE FROM t WHERE false = (1 = 2)", want: "missing_where"},
		{text: "UPDATE t SET a = 1 FROM t u WHERE t.id = u.id", dialect: "pg", want: "missing_where"},
		{text: "DELETE a FROM t a JOIN t b ON a.id = b.id", dialect: "mysql", want: "missing_where"},

		{text: "DELETE FROM t WHERE id > 1000"},
		{text: "DELETE FROM t WHERE id > $1", dialect: "pg"},
		{text: "DELETE FROM t WHERE id > 0 AND id <= 1000"},
		{text: "DELETE FROM t WHERE retries > 0"},
		{text: "DELETE FROM t WHERE token IS NOT NULL"},
		{text: "DELETE a FROM a LEFT JOIN b ON a.x = b.x WHERE b.id IS NOT NULL", dialect: "mysql"},
		{text: "UPDATE t SET a = 1 WHERE a IS NULL OR b IS NOT NULL"},
		{text: "UPDATE t SET a = 1 WHERE a > 5 OR a < 2"},
		{text: "UPDATE t SET a = 1 WHERE a = ? OR a <> ?"},
		{text: "DELETE FROM t WHERE up IN (SELECT id FROM t)"},
		{text: "DELETE FROM t WHERE id IN (SELECT id FROM t WHERE old)"},
		{text: "DELETE FROM t WHERE id IN (SELECT id FROM t LIMIT 100)"},
		{text: "DELETE FROM t WHERE id IN (SELECT t_id FROM s)"},
		{text: "DELETE FROM t WHERE EXISTS (SELECT 1 FROM unnest(t.tags) x)", dialect: "pg"},
		{text: "UPDATE t SET a = ? WHERE id = ? AND (? IS NULL OR v = ?)"},
		{text: "UPDATE t SET a = 1 WHERE owner = current_user OR current_user = 'root'", dialect: "pg"},
		{text: "UPDATE e SET boss = m.name FROM e m WHERE m.id = e.manager_id", dialect: "pg"},
		{text: "DELETE a FROM t a JOIN t b WHERE a.id > b.id AND a.email = b.email", dialect: "mysql"},
	})
}

// TestNamesTarget: a condition on another table selects none of the rows that are
// written.
func TestNamesTarget(t *testing.T) {
	run(t, cost.Options{Explain: true}, []check{
		{text: "DELETE FROM a USING b WHERE b.id = 4", dialect: "pg", want: "missing_where"},
		{text: "UPDATE a SET x = b.y FROM b WHERE b.id = 4", dialect: "pg", want: "missing_where"},
		{text: "UPDATE a JOIN b SET a.x = b.y WHERE b.id = 4", dialect: "mysql", want: "missing_where"},
		{text: "DELETE a FROM a, b WHERE b.id = 4", dialect: "mysql", want: "missing_where"},

		{text: "DELETE s.a FROM s.a INNER JOIN s.b WHERE s.b.id = 4", dialect: "mysql", want: "missing_where"},
		{text: "UPDATE s.a, s.b SET s.a.x = 1 WHERE s.b.id = 4", dialect: "mysql", want: "missing_where"},

		{text: "UPDATE a, b SET a.x = b.y WHERE a.id = 4", dialect: "mysql"},
		{text: "UPDATE s.a, s.b SET s.a.x = 1 WHERE s.a.id = 3", dialect: "mysql"},
		{text: "DELETE s.a FROM s.a INNER JOIN s.b WHERE s.a.id = 4", dialect: "mysql"},
		{text: "UPDATE s.a SET x = 1 FROM s.b WHERE a.id = 4 AND b.id = 5", dialect: "pg"},
		{text: "UPDATE a SET x = b.y FROM b WHERE a.id = 5 AND b.key = 'k'", dialect: "pg"},
		{text: "UPDATE a SET x = b.y FROM b WHERE b.id = 4 AND group_id = 3", dialect: "pg"},
		{text: "UPDATE a JOIN b USING (id) SET a.x = 1 WHERE b.id = 4", dialect: "mysql"},
		{text: "DELETE FROM a USING b WHERE b.id = 4 AND EXISTS (SELECT 1 FROM c WHERE c.a_id = a.id)", dialect: "pg"},
	})
}

// TestHiddenPatterns: a LIKE that begins with a wildcard in an expression, or
// whose pattern a call makes, is one.
func TestHiddenPatterns(t *testing.T) {
	run(t, cost.Options{Explain: true}, []check{
		{text: "SELECT id FROM t WHERE true = (name LIKE '%x%')", want: "leading_wildcard"},
		{text: "SELECT id FROM t WHERE (name LIKE '%x%') IS NOT FALSE", want: "leading_wildcard"},
		{text: "SELECT id FROM t WHERE coalesce(name ILIKE '%x%', false)", dialect: "pg", want: "leading_wildcard"},
		{text: "SELECT id FROM t WHERE IF(name LIKE '%x%', 1, 0) = 1", dialect: "mysql", want: "leading_wildcard non_sargable"},
		{text: "SELECT id FROM t WHERE CASE WHEN name LIKE '%x%' THEN true ELSE false END", want: "leading_wildcard"},
		{text: "SELECT id FROM t WHERE NOT (name NOT LIKE '%x%')", want: "leading_wildcard"},
		{text: "SELECT id FROM t WHERE NOT NOT name LIKE '%x%'", want: "leading_wildcard"},
		{text: "SELECT id FROM t WHERE (name NOT LIKE '%x%') IS FALSE", want: "leading_wildcard"},
		{text: "SELECT id FROM t WHERE name LIKE CONCAT(CHAR(37), 'x')", dialect: "mysql", want: "leading_wildcard"},
		{text: "SELECT id FROM t WHERE name LIKE chr(37) || 'x'", dialect: "pg", want: "leading_wildcard"},
		{text: "SELECT id FROM t WHERE name LIKE replace('*x*', '*', '%')", want: "leading_wildcard"},
		{text: "SELECT id FROM t WHERE name LIKE UNHEX('2578')", dialect: "mysql", want: "leading_wildcard"},
		{text: "SELECT id FROM t WHERE name LIKE reverse('x%')", want: "leading_wildcard"},
		{text: "SELECT id FROM t WHERE name LIKE (SELECT '%x%')", want: "leading_wildcard"},
		{text: "SELECT id FROM t WHERE name LIKE substr('a%x', 2)", want: "leading_wildcard"},
		{text: "SELECT id FROM t WHERE name LIKE lpad('x', 5, '%')", want: "leading_wildcard"},
		{text: "SELECT id FROM t WHERE name LIKE left('abc', 2) || '%'", dialect: "pg"},
		{text: `SELECT id FROM t WHERE name LIKE regexp_replace($1, '([%_])', '\\\1', 'g') || '%'`, dialect: "pg"},

		{text: "SELECT id FROM t WHERE reverse(name) LIKE reverse('%x')", want: "non_sargable"},
		{text: "SELECT id FROM t WHERE reverse(name) LIKE reverse('%' || $1)", dialect: "pg", want: "non_sargable"},
		{text: "SELECT id FROM t WHERE name LIKE replace('x*', '*', '%')"},
		{text: "SELECT id FROM t WHERE NOT (name LIKE '%x%')", want: "non_sargable"},
		{text: "SELECT id FROM t WHERE NOT (name LIKE '%x%' AND name IS NOT NULL)", want: "non_sargable"},
		{text: "SELECT id FROM t WHERE tenant = 4 AND CASE WHEN name LIKE '%x%' THEN 1 ELSE 0 END = 1", want: "non_sargable"},
		{text: "SELECT owner FROM t GROUP BY owner HAVING sum(CASE WHEN name LIKE '%x%' THEN 1 ELSE 0 END) > 2"},
		{text: "UPDATE t SET kind = CASE WHEN name LIKE '%x%' THEN 'a' ELSE 'b' END WHERE id = 4"},
	})
}

// TestHiddenLists: lists in parts, in arrays, and of queries of one value.
func TestHiddenLists(t *testing.T) {
	unions := strings.TrimSuffix(strings.Repeat("SELECT 1 UNION ALL ", 1001), " UNION ALL ")
	run(t, cost.Options{}, []check{
		{text: "SELECT * FROM t WHERE id IN (" + list(600) + ") OR id IN (" + list(600) + ")", want: "in_list"},
		{text: "SELECT * FROM t WHERE (id IN (" + list(600) + ")) OR (id IN (" + list(600) + "))", want: "in_list"},
		{text: "SELECT * FROM t WHERE id IN (SELECT unnest(ARRAY[" + list(1001) + "]))", dialect: "pg", want: "in_list"},
		{text: "SELECT * FROM t WHERE id IN (SELECT unnest('{" + list(1001) + "}'::int[]))", dialect: "pg", want: "in_list"},
		{text: "SELECT * FROM t WHERE id IN (" + unions + ")", want: "in_list"},
		{text: "SELECT * FROM t JOIN (" + unions + ") v ON v.id = t.id", want: "in_list"},

		{text: "SELECT sum(CASE WHEN id IN (" + list(1001) + ") THEN 1 END) FROM t WHERE a = 1", want: "in_list"},
		{text: "SELECT * FROM t WHERE coalesce(id IN (" + list(1001) + "), false)", want: "in_list"},
		{text: "SELECT position('x' IN name) FROM t WHERE id = 1"},
		{text: "ALTER TABLE t ADD PARTITION (PARTITION p VALUES IN (" + list(1001) + "))", dialect: "mysql"},

		{text: "SELECT * FROM t WHERE id IN (" + list(500) + ") OR id IN (" + list(500) + ")"},
		{text: "SELECT * FROM t WHERE a IN (" + list(600) + ") OR b IN (" + list(600) + ")"},
		{text: "SELECT * FROM t WHERE (a IN (" + list(600) + ") AND b = 1) OR (a IN (" + list(600) + ") AND b = 2)"},
		{text: "INSERT INTO t (a) " + unions},
		{text: "INSERT INTO t (a) SELECT unnest(ARRAY[" + list(1001) + "])", dialect: "pg"},
	})
}

// TestHiddenCalls: names in escapes, statements in variables, pages in comments.
func TestHiddenCalls(t *testing.T) {
	run(t, cost.Options{Explain: true}, []check{
		{text: `SELECT U&"pg\005fsleep"(30)`, dialect: "pg", want: "denied_function"},
		{text: `SELECT U&"pg!005fsleep" UESCAPE '!' (30)`, dialect: "pg", want: "denied_function"},
		{text: `SELECT U&"count"(x) FROM t WHERE id = 1`, dialect: "pg"},
		{text: `SELECT U&"d\0061ta" FROM t WHERE id = 1`, dialect: "pg"},
		{text: "SET @q = 'DELETE FROM t'; PREPARE s FROM @q; EXECUTE s", dialect: "mysql", want: "missing_where multi_statement"},
		{text: "SELECT 'DELETE FROM t' INTO @q; PREPARE s FROM @q; EXECUTE s", dialect: "mysql", want: "missing_where multi_statement"},
		{text: "SET @q = 'SELECT * FROM t WHERE id = ?'; PREPARE s FROM @q; EXECUTE s USING @id", dialect: "mysql", want: "multi_statement"},
		{text: "SET @q = CONCAT('DELETE FROM ', 't'); PREPARE s FROM @q", dialect: "mysql", want: "multi_statement unparsable"},
		{text: "SET @q = 'SELECT 1'; SELECT f(1) INTO @q; PREPARE s FROM @q", dialect: "mysql", want: "multi_statement unparsable"},
		{text: "SET @q = 'SELECT 1'; CALL p(@q); PREPARE s FROM @q", dialect: "mysql", want: "multi_statement unparsable"},
		{text: "SET @q = 'SELECT 1'; PREPARE s FROM @q; PREPARE z FROM @q", dialect: "mysql", want: "multi_statement"},
		{text: "SET @q = 'SELECT 1'; SET @q = f(1); PREPARE s FROM @q", dialect: "mysql", want: "multi_statement unparsable"},
		{text: "SELECT * FROM t WHERE a = 3 LIMIT 10 /*!40000 OFFSET 70000 */", dialect: "mysql", want: "offset"},
		{text: "SELECT * FROM t WHERE a = 3 /*!40000 LIMIT 70000, 10 */", dialect: "mysql", want: "offset"},
	})
}

// TestEscapedExpressions: in MySQL a backslash of an expression is written twice.
func TestEscapedExpressions(t *testing.T) {
	run(t, cost.Options{Explain: true}, []check{
		{text: `SELECT * FROM t WHERE id = 4 AND v REGEXP '^(\\d+)+$'`, dialect: "mysql", want: "regex regex_exponential"},
		{text: `SELECT * FROM t WHERE id = 4 AND v REGEXP '^(\d+)+$'`, dialect: "mysql+no_backslash_escapes", want: "regex regex_exponential"},
		{text: `SELECT * FROM t WHERE id = 4 AND v REGEXP '^\\d+$'`, dialect: "mysql", want: "regex"},
	})
}
