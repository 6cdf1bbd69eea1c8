package sql

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

func seeds() []string {
	return []string{
		"SELECT a, b FROM t WHERE a = 1 AND b LIKE '%x' ORDER BY 1 LIMIT 5 OFFSET 3",
		"WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT * FROM r, t JOIN u USING (n) WHERE EXISTS (SELECT 1)",
		"UPDATE a SET x = $1 FROM b WHERE a.id = b.id; DELETE FROM t WHERE 1=1 -- x\n; /*!50000 SELECT 1 */",
		"MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN DELETE",
		"SELECT E'\\x25', U&'\\0025', $a$ b $a$, \"x\", `y`, [z], :n, @p, ?, %s, #{a}, 1e5, 0x1f, .5 FROM \"a\".b AS c (d)",
		"SELECT CASE WHEN a THEN b ELSE c END FROM t GROUP BY 1, ROLLUP (a) HAVING count(*) > 1 WINDOW w AS (ORDER BY a)",
		"INSERT INTO t (a) SELECT * FROM s ON CONFLICT (a) DO UPDATE SET a = 1 RETURNING *",
		"COPY (SELECT 1) TO PROGRAM 'x'", "DO $$ BEGIN PERFORM pg_sleep(1); END $$", "SELECT TOP (5) * FROM t FOR UPDATE", "EXPLAIN DECLARE c CURSOR FOR TABLE t",
		"SELECT * FROM a LEFT JOIN b ON a.x BETWEEN b.y AND b.z AND NOT (a.t ~ '(a+)+$') WHERE (a.i, a.j) IN ((1, 2), (3, 4))",
		"WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 1e9) SELECT repeat(rpad('x', 5), 2 * 3 / 4) FROM generate_series(1, 9) a, r",
		"TRUNCATE a, b; ALTER TABLE t DROP c; SELECT 1 INTO OUTFILE 'x'; SELECT GET_LOCK('a', 0) WHERE (a = 1) = 1 OR a LIKE 0x25 || _utf8'%'",
		"SELECT * FROM ROWS FROM (f(1), generate_series(-1, $1::int)) x, LATERAL (SELECT * FROM t) y WHERE (SELECT true) AND @@v >= @@v",
		"DO $$ BEGIN IF a THEN DELETE FROM t; ELSE EXECUTE 'UPDATE t SET a = ''x'''; END IF; FOR i IN 1..9 LOOP PERFORM 1; END LOOP; END $$",
		"BEGIN NOT ATOMIC FOR r IN (SELECT 1) DO EXECUTE IMMEDIATE 'SELECT 1' USING 2; END FOR; END", "EXPLAIN (ANALYZE 0) DELETE FROM t", "ANALYZE FORMAT=JSON SELECT 1 LIMIT 0",
		"SELECT generate_series(1, 9) FROM seq_1_to_9_step_2 a, b WHERE EXISTS (SELECT 1 FROM c WHERE c.x = a.x AND c.y = b.y) OR 1 = 2",
		"DELETE FROM a USING a b WHERE a.x = b.x OR NOT (a.x = b.x) OR a.y IS NULL AND b.y IS NULL OR (a.i IN (1, 2)) OR a.i IN (3) OR 2 ^ 3 % 1 << 4 BETWEEN 1 AND 2",
		"SELECT U&\"a\\0062\" UESCAPE '!' (1) FROM a JOIN b ON f(a.x, b.x) < 4 OR (a.s, a.t) OVERLAPS (b.s, b.t) WHERE a.n LIKE reverse('x' || chr(37)) IS FALSE OR (a.n NOT LIKE replace('*', '*', '%')) = 0",
		"SET @q = 'DELETE FROM t WHERE id IN (SELECT id FROM (SELECT t.id FROM t) x) OR 1 + 1 = 2'; PREPARE s FROM @q; SELECT 1 LIMIT 1 /*!40000 OFFSET 7 */",
		"WITH a AS (INSERT INTO t VALUES (1) RETURNING *) UPDATE t SET a = CASE WHEN b LIKE '%x' THEN 1 END FROM a WHERE a.id IN (SELECT unnest(ARRAY[1, 2])) AND NOT NOT (t.v ~ 'a')",
		"((SELECT 1) UNION (SELECT 2 FETCH FIRST ROW ONLY)) LIMIT ALL", "{call p(?)}", "SELECT 'a\\'b' -- '", "/* /* */ */ SELECT 1",
	}
}

// FuzzRead: whatever comes, the reader ends, in steps that are linear in the
// text, with the same measures when it explains, and tokens that cover the text.
func FuzzRead(f *testing.F) {
	for _, s := range seeds() {
		for _, d := range []string{"", "postgres", "mysql", "mariadb", "mysql+ansi_quotes"} {
			f.Add(s, d, "%x")
		}
	}
	var r Reader
	f.Fuzz(func(t *testing.T, text, dialect, arg string) {
		q := cost.Query{Body: []byte(text), Dialect: dialect, Args: []any{arg, int64(len(arg)), []string{arg}, Named{"n", arg}, nil}}
		o := cost.Options{MaxDepth: 30}
		plain, err := r.Read(nil, q, o)
		steps := r.steps
		if most := 2000 + 200*len(text); steps > most {
			t.Errorf("%d steps for %d bytes", steps, len(text))
		}
		checkTokens(t, text, dialect)
		o.Explain = true
		explained, err2 := r.Read(nil, q, o)
		if (err == nil) != (err2 == nil) {
			t.Fatalf("error %v, explained %v", err, err2)
		}
		if len(plain) != len(explained) {
			t.Fatalf("%d measures, explained %d", len(plain), len(explained))
		}
		for i, m := range plain {
			e := explained[i]
			if m.Predictor != e.Predictor || m.Value != e.Value && !math.IsNaN(m.Value) || m.Offset != e.Offset || m.Part != e.Part || m.Target != e.Target {
				t.Fatalf("measure %d is %+v, explained %+v", i, m, e)
			}
			if e.Path == "" || math.IsNaN(m.Value) || m.Value < 0 || m.Offset >= len(text) {
				t.Fatalf("measure %+v", e)
			}
			if c := e.Cap; c.Place != cost.CapNone && (c.Start < 0 || c.End < c.Start || c.End > len(text)) {
				t.Fatalf("cap %+v of %d bytes", c, len(text))
			}
		}
	})
}

// checkTokens: tokens follow one another, brackets point at one another, and
// between tokens there is nothing but space and comments.
func checkTokens(t *testing.T, text, dialect string) {
	t.Helper()
	var r Reader
	r.begin(nil, &cost.Query{Body: []byte(text), Dialect: dialect}, &cost.Options{MaxDepth: 30})
	r.lexAll()
	at := int32(0)
	for i, tok := range r.tokens {
		if tok.start < at || tok.end <= tok.start || int(tok.end) > len(text) {
			t.Fatalf("token %d at %d to %d follows %d in %q", i, tok.start, tok.end, at, text)
		}
		gap := strings.TrimSpace(strings.TrimPrefix(text[at:tok.start], "\xef\xbb\xbf"))
		if gap != "" && !strings.ContainsAny(gap[:1], "-/#*\x00") {
			t.Fatalf("%q between tokens of %q", gap, text)
		}
		at = tok.end
		if tok.kind == openParen && r.fault == nil && (tok.match <= int32(i) || r.tokens[tok.match].match != int32(i)) {
			t.Fatalf("bracket %d is closed by %d in %q", i, tok.match, text)
		}
	}
}

// TestLinear: twice the text takes twice the steps, also where it was written
// to take more.
func TestLinear(t *testing.T) {
	for name, make := range map[string]func(n int) string{
		"quotes":      func(n int) string { return strings.Repeat("'", 2*n+1) },
		"backslashes": func(n int) string { return "SELECT '" + strings.Repeat(`\a`, n) + "'" },
		"dollars":     func(n int) string { return strings.Repeat("$a$ $b$ $c ", n) },
		"dollar tags": func(n int) string { return tags(n) },
		"comments":    func(n int) string { return strings.Repeat("/*", n) },
		"closed":      func(n int) string { return strings.Repeat("/* */", n) },
		"stars":       func(n int) string { return "/*" + strings.Repeat("*", n) },
		"brackets":    func(n int) string { return strings.Repeat("(", n) },
		"square":      func(n int) string { return strings.Repeat("[", n) },
		"pairs":       func(n int) string { return "SELECT " + strings.Repeat("()", n) },
		"deep": func(n int) string {
			return "SELECT " + strings.Repeat(strings.Repeat("(", 150)+"1"+strings.Repeat(")", 150)+",", n/300+1) + "1"
		},
		"deep queries": func(n int) string { return "SELECT " + strings.Repeat(nest(100), n/1000+1) + "1" },
		"deep groups":  func(n int) string { return strings.Repeat(nestGroups(40)+" UNION ALL ", n/1000+1) + "SELECT 1" },
		"deep likes":   func(n int) string { return strings.Repeat(nestLikes(60)+" UNION ALL ", n/1000+1) + "SELECT 1" },
		"cases":        func(n int) string { return "SELECT " + strings.Repeat("CASE ", n) },
		"ands":         func(n int) string { return "SELECT 1 FROM a, b WHERE " + strings.Repeat("a.x = b.x AND ", n) + "1" },
		"ors":          func(n int) string { return "SELECT 1 FROM a, b WHERE " + strings.Repeat("a.x = b.x OR ", n) + "1" },
		"nots":         func(n int) string { return "SELECT 1 FROM a WHERE " + strings.Repeat("NOT ", n) + "1" },
		"betweens":     func(n int) string { return "SELECT 1 FROM a WHERE " + strings.Repeat("x BETWEEN 1 AND ", n) + "1" },
		"tables":       func(n int) string { return "SELECT 1 FROM " + strings.Repeat("a, ", n) + "a WHERE a.x = a.y" },
		"joins":        func(n int) string { return "SELECT 1 FROM a " + strings.Repeat("JOIN b ON a.x = b.x ", n) },
		"withs": func(n int) string {
			return "WITH x AS (SELECT 1)" + strings.Repeat(", x AS (SELECT 1 FROM x)", n) + " SELECT 1"
		},
		"with chains": func(n int) string { return strings.Repeat("WITH x AS (SELECT 1) ", n) },
		"prepares":    func(n int) string { return strings.Repeat("PREPARE x AS ", n) },
		"ifs":         func(n int) string { return strings.Repeat("IF ", n) },
		"branches":    func(n int) string { return strings.Repeat("IF 1 THEN PREPARE x AS ", n) },
		"loops":       func(n int) string { return strings.Repeat("FOR x IN 1..2 LOOP ", n) },
		"texts":       func(n int) string { return strings.Repeat("DO $$ SELECT 1; $$;", n/9+1) },
		"one text":    func(n int) string { return "DO $$" + strings.Repeat("PERFORM 1; IF x THEN y := 2;", n/9+1) + "$$" },
		"doubled":     func(n int) string { return "EXECUTE IMMEDIATE '" + strings.Repeat("SELECT '''';", n/5+1) + "'" },
		"correlated": func(n int) string {
			return "SELECT 1 FROM a" + strings.Repeat(", a", 60) + " WHERE EXISTS (SELECT 1 FROM b WHERE " + strings.Repeat("b.x = q.y AND ", n) + "1)"
		},
		"explains":   func(n int) string { return strings.Repeat("EXPLAIN ", n) },
		"declares":   func(n int) string { return strings.Repeat("EXPLAIN DECLARE c CURSOR FOR ", n) },
		"statements": func(n int) string { return strings.Repeat("SELECT 1;", n) },
		"routine":    func(n int) string { return "CREATE FUNCTION f() " + strings.Repeat("BEGIN ;", n) },
		"unions":     func(n int) string { return strings.Repeat("SELECT 1 UNION ", n) + "SELECT 1" },
		"limits":     func(n int) string { return "SELECT 1 " + strings.Repeat("LIMIT 1 ", n) },
		"groups": func(n int) string {
			return "SELECT " + strings.Repeat("a,", n) + "a FROM t GROUP BY " + strings.Repeat("a,", n) + "a"
		},
		"series": func(n int) string { return "SELECT 1 FROM " + strings.Repeat("generate_series(1, 2 + 3), ", n) + "t" },
		"repeats": func(n int) string {
			return "SELECT " + strings.Repeat(strings.Repeat("repeat(", 90)+"1"+strings.Repeat(", 2)", 90)+",", n/900+1) + "1"
		},
		"counters": func(n int) string {
			return strings.Repeat("WITH RECURSIVE r AS (SELECT 1 UNION ALL SELECT 2 FROM r) SELECT 1 FROM r;", n/70+1)
		},
		"drops": func(n int) string { return "DROP TABLE " + strings.Repeat("a, ", n) + "a" },
		"affirmations": func(n int) string {
			return "SELECT 1 FROM t WHERE " + strings.Repeat(strings.Repeat("(", 90)+"a = 1"+strings.Repeat(") = 1", 90)+" AND ", n/500+1) + "1"
		},
		"list":           func(n int) string { return "SELECT 1 FROM t WHERE a IN (" + strings.Repeat("1,", n) + "1)" },
		"values":         func(n int) string { return "VALUES " + strings.Repeat("(1),", n) + "(1)" },
		"dots":           func(n int) string { return "SELECT " + strings.Repeat("a.", n) + "a" },
		"casts":          func(n int) string { return "SELECT a" + strings.Repeat("::int", n) },
		"concatenations": func(n int) string { return "SELECT 1 FROM t WHERE a LIKE 'x'" + strings.Repeat("||'%x'", n) },
		"operators":      func(n int) string { return "SELECT " + strings.Repeat("+-*/<>=~!@#%^&|`?", n) },
		"one name":       func(n int) string { return "SELECT " + strings.Repeat("a", n) },
		"patterns":       func(n int) string { return "SELECT 1 FROM t WHERE " + strings.Repeat("a RLIKE 'a' OR ", n) + "1" },
	} {
		for _, d := range []string{"", "postgres", "mysql"} {
			steps := func(n int) int {
				var r Reader
				text := make(n)
				out, _ := r.Read(nil, cost.Query{Body: []byte(text), Dialect: d}, cost.Options{})
				if len(out) > 50+len(text) {
					t.Errorf("%s: %d measures of %d bytes", name, len(out), len(text))
				}
				return r.steps
			}
			one, two := steps(6000), steps(12_000)
			if two > 5000+one*5/2 {
				t.Errorf("%s in %q: %d steps, and %d for twice the text", name, d, one, two)
			}
		}
	}
}

func tags(n int) string {
	var b strings.Builder
	for i := range n / 8 {
		b.WriteString("$t")
		for k := i; k > 0; k /= 10 {
			b.WriteByte(byte('0' + k%10))
		}
		b.WriteString("$ ")
	}
	return b.String()
}

func nest(n int) string {
	return strings.Repeat("(SELECT a FROM t WHERE a = ", n) + "1" + strings.Repeat(")", n) + ","
}

func nestGroups(n int) string {
	return strings.Repeat("SELECT (", n) + "SELECT 1" + strings.Repeat("), 2 FROM t GROUP BY 1, 1, 1, 1", n)
}

func nestLikes(n int) string {
	return "SELECT 1 FROM t WHERE " + strings.Repeat("a LIKE (SELECT b FROM t WHERE ", n) + "1" + strings.Repeat(")", n)
}

// TestDeniedFunctions: what is documented is what is refused.
func TestDeniedFunctions(t *testing.T) {
	list := DeniedFunctions()
	if !slices.IsSorted(list) {
		t.Error("not in order")
	}
	var r Reader
	for _, name := range list {
		if !r.isDenied([]byte(strings.ToUpper(name))) {
			t.Errorf("%s is not refused", name)
		}
	}
}

// TestNoAllocation: a text that is only measured costs none.
func TestNoAllocation(t *testing.T) {
	var r Reader
	dst := make([]cost.Measure, 0, 64)
	for _, text := range seeds() {
		if strings.Contains(text, "~") {
			continue // expressions are analysed, and that allocates
		}
		q := cost.Query{Body: []byte(text), Dialect: "postgres"}
		if n := testing.AllocsPerRun(20, func() { dst, _ = r.Read(dst[:0], q, cost.Options{}) }); n > 0 && r.fault == nil {
			if _, err := r.Read(nil, q, cost.Options{}); err == nil {
				t.Errorf("%v allocations for %s", n, text)
			}
		}
	}
}
