package mask

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/guard"
)

// Of these queries nothing may be left that says SECRET or 8086, in any case or
// place, and what says KEEP or asks for so much stays.
var told = []struct {
	name  string
	query guard.Query
	stays []string
}{
	{
		"clauses", es("/KEEP/_search", `{"query":{"bool":{"must":[{"term":{"KEEP":"SECRET"}},{"term":{"KEEP":{"value":8086,"boost":17.5}}},{"terms":{"KEEP":["SECRET",8086,"SECRET"]}},
		{"match":{"KEEP":{"query":"the SECRET of 8086","operator":"and","fuzziness":"AUTO:12,34"}}},{"multi_match":{"query":"SECRET","fields":["KEEP^12"],"type":"phrase"}},
		{"range":{"KEEP":{"gte":8086,"lte":"SECRET"}}},{"range":{"at":{"gte":"now-7d/d","lt":"2024-10-31"}}},{"ids":{"values":["SECRET",8086]}},{"prefix":{"KEEP":"SECRET"}},
		{"more_like_this":{"fields":["KEEP"],"like":["SECRET",{"_id":"8086"}],"max_query_terms":25}},{"exists":{"field":"KEEP"}},{"fuzzy":{"KEEP":{"value":"SECRET"}}},
		{"terms":{"KEEP":{"index":"KEEP","id":"SECRET","path":"KEEP"}}},{"match_phrase":{"KEEP":"SECRET"}}]}},"size":345,"from":120,"search_after":["SECRET",8086],"sort":[{"KEEP":"desc"}]}`),
		[]string{`"size":345`, `"from":120`, `"max_query_terms":25`, `"boost":17.5`, `"AUTO:12,34"`, `"KEEP^12"`, "now-7d/d", "2024-10-31", `"phrase"`},
	},
	{
		"aggregations", es("/i/_search", `{"aggs":{"KEEP":{"terms":{"field":"KEEP","size":5000,"include":"SECRET.*[0-9]{2,3}","exclude":["SECRET"],"missing":"SECRET"},
		"aggs":{"b":{"filters":{"filters":{"name:SECRET":{"term":{"KEEP":"SECRET"}}}}},"c":{"range":{"field":"KEEP","ranges":[{"from":12,"to":345,"key":"SECRET"},{"from":"80.86.80.86"}]}},
		"d":{"composite":{"size":777,"sources":[{"KEEP":{"terms":{"field":"KEEP"}}}],"after":{"KEEP":"SECRET 8086"}}}}}}}`),
		[]string{`"size":5000`, `.*[0-9]{2,3}`, `"from":12,"to":345`, `"size":777`},
	},
	{
		"patterns", es("/i/_search", `{"query":{"bool":{"should":[{"wildcard":{"KEEP":{"value":"*SEC?RET*"}}},{"regexp":{"KEEP":"(SECRET|8086)+.*[a-f]"}},
		{"query_string":{"query":"KEEP:SECRET AND (8086 OR *SECRET~2^17) NOT KEEP:[8086 TO now-17d] /SE+CRET/ _exists_:KEEP \"SECRET words\"~12","default_field":"KEEP"}}]}}}`),
		[]string{"KEEP:", " AND (", " OR *", "~2^17", " TO now-17d]", "_exists_:KEEP", "~12", "+.*[a-f]"},
	},
	{
		"names and comments", es("/i/_search", "{\"query\": /* SECRET */ {\"term\": {\"KEEP\": \"\\u0053ECRET \\\"8086\\\"\"}}, // SECRET\r \"_name\": \"SECRET\", \"preference\": \"SECRET\", \"runtime_mappings\": {\"KEEP\": {\"type\": \"long\", \"script\": {\"source\": \"emit(KEEP(doc['SECRET'])) // SECRET\", \"params\": {\"KEEP\": \"SECRET 8086\"}}}}}"),
		[]string{"emit(KEEP(doc['"},
	},
	{
		"vectors and places", es("/i/_search", `{"knn":{"field":"KEEP","query_vector":[0.8086123,-0.80861],"k":10,"num_candidates":333},"query":{"bool":{"must":[
		{"geo_distance":{"distance":"12km","KEEP":{"lat":52.8086,"lon":"4.8086"}}},{"weighted_tokens":{"KEEP":{"tokens":{"SECRET":0.8086}}}},{"percolate":{"field":"KEEP","document":{"KEEP":"SECRET"}}},{"wrapper":{"query":"eyJ0ZXJtIjp7IktFRVAiOiJTRUNSRVQifX0="}}]}}}`),
		[]string{`"k":10`, `"num_candidates":333`, `"12km"`, `"lat":52.`, `"4.`},
	},
	{"a template", es("/i/_search/template", `{"source":"{\"query\":{\"term\":{\"KEEP\":\"{{KEEP}}\"}},\"size\":{{n}},\"x\":\"SECRET\"}","params":{"KEEP":"SECRET","n":500}}`), []string{"{{KEEP}}", "{{n}}", "500"}},
	{"many searches", es("/_msearch", "{\"index\":\"KEEP\",\"routing\":\"SECRET\"}\n{\"query\":{\"match\":{\"KEEP\":\"SECRET\"}},\"size\":99}\n{}\n{\"query\":{\"match_all\":{}}}\n"), []string{`"size":99`, "match_all"}},
	{"a URL", guard.Query{Kind: guard.OpenSearch, Method: "GET", Path: "/KEEP/_search", RawQuery: "q=KEEP%3ASECRET+AND+8086&size=500&routing=SECRET&preference=SECRET&SECRET&pretty&sort=KEEP:desc&x;KEEP=SECRET"}, []string{"size=500", "sort=KEEP:desc", "&pretty&"}},
	{
		"fields that are called like parts of a query", es("/i/_search", `{"query":{"bool":{"must":[{"term":{"field":"SECRET"}},{"match":{"field":"SECRET"}},{"wildcard":{"script":"*SECRET*"}},{"range":{"KEEP":{"from":8086,"to":"SECRET"}}},{"range":{"KEEP":{"from":"SECRET"}}}]}},
		"suggest":{"s":{"text":"SECRET","term":{"field":"KEEP"}}}}`), []string{`{"field":"KEEP"}`},
	},
	{
		"numbers without a field", es("/i/_search", `{"query":{"bool":{"must":[{"multi_match":{"query":8086,"fields":["KEEP"]}},{"query_string":{"query":8086}},{"match":{"KEEP":{"query":"{{SECRET}}"}}},
		{"rule":{"match_criteria":{"type":"SECRET"},"organic":{"match_all":{}}}}]}},"slice":{"id":12,"max":20}}`), []string{`"id":12`},
	},
	{"what is put where nothing is", es("/i/_update/SECRET", `{"script":{"source":"KEEP"},"upsert":{"type":"SECRET","KEEP":8086}}`), nil},
	{"a template's long numbers", es("/_search/template", `{"id":"x","params":{"KEEP":80868086808680,"size":500}}`), []string{"500"}},
	{"a number with a long exponent", es("/i/_search", `{"query":{"term":{"KEEP":1}},"KEEP":0E8086808680}`), []string{"0E"}},
	{"words without quotes", es("/i/_search", "{'KEEP':{KEEP:SECRET,\"KEEP\":'SECRET'}} SECRET"), nil},
	{"a text", es("/_search/scroll", `SECRET8086AAAA`), nil},
	{"a text in quotes", es("/i/_search", `["SECRET"]`), nil},
	{"numbers that are nearly JSON", es("/i/_search", `{"size": 500, "query":{"term":{"KEEP":8086}} SECRET`), nil},
	{"ES|QL", es("/_query", "{\"query\":\"FROM KEEP // SECRET\\n | WHERE KEEP == \\\"SECRET\\\" OR KEEP == \\\"\\\"\\\"SECRET\\\"\\\"\\\" AND id > 8086 | LIMIT 250\"}"), []string{"| LIMIT 250"}},
	{"PPL", guard.Query{Kind: guard.OpenSearch, Method: "POST", Path: "/_plugins/_ppl", Body: []byte(`{"query":"source=KEEP | where KEEP=\"SECRET\" | head 10"}`)}, []string{"| head 10"}},
	{"SQL of OpenSearch", guard.Query{Kind: guard.OpenSearch, Method: "POST", Path: "/_plugins/_sql", Body: []byte(`{"query":"select KEEP from KEEP where KEEP = \"SECRET\" limit 25"}`)}, []string{"limit 25"}},
	{"ids of old paths", guard.Query{Kind: guard.Elasticsearch, Method: "GET", Path: "/i/t/SECRET/_mlt"}, nil},
	{"ids of asynchronous queries", guard.Query{Kind: guard.Elasticsearch, Method: "GET", Path: "/_sql/async/status/SECRET"}, []string{"/_sql/async/status/"}},
	{"ids of sequences", guard.Query{Kind: guard.Elasticsearch, Method: "GET", Path: "/_eql//search/SECRET"}, nil},
	{"ids in a path", guard.Query{Kind: guard.Elasticsearch, Method: "GET", Path: "/KEEP/_explain/SECRET-8086"}, nil},
	{"nearly JSON", es("/i/_search", `{"query":{"term":{"KEEP":"SECRET"}}`), nil},
	{
		"statements", sqlQuery("postgres", "SELECT KEEP, lower('SECRET') -- SECRET 8086\nFROM \"KEEP\" /* SECRET */ WHERE KEEP = 'SECRET''s' AND n IN (8086, 80860, '8086') AND KEEP LIKE '%SEC_RET%' AND KEEP ~ '^(SECRET|x)+$' AND x > 8086.5 AND e = E'SECRET\\x38' AND d = $$SECRET$$ AND at > now() - interval '17 days' ORDER BY 1 LIMIT 345 OFFSET 1234"),
		[]string{"lower('", "\"KEEP\"", "LIKE '%", "_", "%'", "^(", ")+$", "interval '17 days'", "LIMIT 345 OFFSET 1234"},
	},
	{
		"other statements", sqlQuery("mysql", "INSERT INTO KEEP (a, KEEP) VALUES (\"SECRET\", 8086), ('SEC\\'RET', 0x38303836); # SECRET\nUPDATE KEEP SET a = 'SECRET' WHERE id = 80864; SELECT date_format(at, 'SECRET') FROM KEEP LIMIT 20, 45 /*+ KEEP(1) */"),
		[]string{"LIMIT 20, 45", "/*+ KEEP(1) */"},
	},
	{
		"comments of all kinds", sqlQuery("postgres", "SELECT /*+ KEEP(12) */ /* SECRET */ 1 /*! SECRET */ FROM /* SECRET /* SECRET */ 8086 */ KEEP /*M! 8086 */ WHERE a = 8086 /*+ SECRET"),
		[]string{"/*+ KEEP(12) */"},
	},
	{"code of some versions", sqlQuery("mysql", "SELECT KEEP /*!50000 , 'SECRET' */ FROM KEEP WHERE a = 1 LIMIT 10"), []string{"/*!50000 , '"}},
	{
		"strings beside sizes", sqlQuery("postgres", "SELECT repeat('SECRET', 3), lpad(KEEP, 300, 'SECRET'), interval 'SECRET', b'SECRET', '{{SECRET}}', interval '2 days 01:30' FROM KEEP WHERE a = 1 LIMIT (SELECT KEEP FROM KEEP WHERE b = 'SECRET' LIMIT 1)"),
		[]string{"'2 days 01:30'", "300"},
	},
	{"values in what goes round", sqlQuery("postgres", "WITH RECURSIVE KEEP(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM KEEP WHERE n < 12345) SELECT n FROM KEEP WHERE id = 8086808680868086"), []string{"n < 12345"}},
	{"what is quoted in an expression", guard.Query{Kind: guard.Regex, Dialect: "pcre", Body: []byte(`^\QSECRET\E.*(\QSECRET|a)+$`)}, []string{`\E.*(`}},
	{"variables in a URL", guard.Query{Kind: guard.GraphQL, Method: "GET", Path: "/graphql", RawQuery: "query=query(%24query:String%3D%22SECRET%22)%7BKEEP(a:%24query)%7D&variables=%7B%22query%22:%22SECRET+b%22,%22operationName%22:%22SECRET%22%7D"}, nil},
	{"values by default", guard.Query{Kind: guard.GraphQL, Method: "POST", Path: "/graphql", ContentType: "application/json", Body: []byte(`{"query":"query($KEEP:Int=80868086808680){KEEP(id:$KEEP)}","extensions":{"query":"SECRET b"}}`)}, nil},
	{"made rows", sqlQuery("postgres", "SELECT * FROM generate_series(1, 5000000) AS s WHERE KEEP = 'SECRET' AND id = 8086"), []string{"generate_series(1, 5000000)"}},
	{"statements that end nowhere", sqlQuery("postgres", "SELECT KEEP FROM KEEP WHERE a = 80861 AND b = 'SECRET 8086"), []string{"SELECT KEEP"}},
	{"code", sqlQuery("postgres", "DO $$ BEGIN EXECUTE 'DELETE FROM KEEP WHERE a = ''SECRET'' AND b = 8086'; END $$"), []string{"EXECUTE 'DELETE FROM KEEP WHERE a = ''"}},
	{"an expression", guard.Query{Kind: guard.Regex, Dialect: "js", Body: []byte(`^SECRET(?<KEEP>\d{2,30}|8086)*[a-z]+(?:SE|CRET)$`)}, []string{"(?<KEEP>", `\d{2,30}`, "[a-z]+"}},
	{"a form", guard.Query{Kind: guard.GraphQL, Method: "POST", Path: "/graphql", ContentType: "application/x-www-form-urlencoded", Body: []byte("token=SECRET&query=%7BKEEP(first%3A450,a%3A%22SECRET%22)%7D&variables=%7B%22KEEP%22%3A%22SECRET%22%7D&id=8086")}, []string{"450"}},
	{"a form that nobody names", guard.Query{Kind: guard.GraphQL, Method: "POST", Path: "/graphql", Body: []byte("token=SECRET&query={KEEP(itemsPerPage:450,a:%22SECRET%22)}")}, []string{"450"}},
	{"a form with files that nobody names", guard.Query{Kind: guard.GraphQL, Method: "POST", Path: "/graphql", Body: []byte("--x\r\nContent-Disposition: form-data; name=\"token\"\r\n\r\nSECRET 8086\r\n--x--")}, nil},
	{"a document", guard.Query{Kind: guard.GraphQL, Method: "POST", Path: "/graphql", Body: []byte("query KEEP($KEEP: Int = 12) { KEEP(id: 8086, first: 450, name: \"SECRET\", text: \"\"\"SECRET\"\"\") { KEEP(last: $KEEP) } } # SECRET")}, []string{"first: 450", "= 12"}},
	{
		"a request",
		guard.Query{Kind: guard.GraphQL, Method: "POST", Path: "/graphql", ContentType: "application/json", Body: []byte(`{"variables":{"n":500,"id":8086,"KEEP":{"KEEP":"SECRET","first":70}},"query":"query KEEP($n: Int) { KEEP(first: $n, id: \"SECRET\") { KEEP } }","operationName":"KEEP","extensions":{"hash":"SECRET"}}`)},
		[]string{`"n":500`, `"first":70`, `"operationName":"KEEP"`},
	},
}

func es(path, body string) guard.Query {
	return guard.Query{Kind: guard.Elasticsearch, Method: "POST", Path: path, ContentType: "application/json", Body: []byte(body)}
}

func sqlQuery(dialect, text string) guard.Query {
	return guard.Query{Kind: guard.SQL, Dialect: dialect, Body: []byte(text)}
}

// under is a query under a mask that is the same at each run.
func under(key byte, q *guard.Query) (masked guard.Query, ok bool) {
	var m masker
	m.key[0] = key
	return m.query(q)
}

var secret = regexp.MustCompile(`(?i)secret|8086|80\.86|sec.ret|sec..ret`)

func TestNothingIsTold(t *testing.T) {
	g, err := guard.New(guard.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range told {
		t.Run(c.name, func(t *testing.T) {
			before := string(c.query.Body)
			masked, ok := under(1, &c.query)
			if !ok || string(c.query.Body) != before {
				t.Fatalf("%v, and what was there is %s", ok, c.query.Body)
			}
			text := masked.Path + "?" + masked.RawQuery + "\n" + string(masked.Body)
			if found := secret.FindString(text); found != "" {
				t.Errorf("%q is in\n%s", found, text)
			}
			for _, s := range c.stays {
				if !strings.Contains(text, s) {
					t.Errorf("%s is gone:\n%s", s, text)
				}
			}
			if n, m := strings.Count(before, "KEEP"), strings.Count(string(masked.Body), "KEEP"); n != m {
				t.Errorf("of %d names %d are left:\n%s", n, m, text)
			}
			if !g.Alike(&c.query, &masked) {
				t.Errorf("it costs something else:\n%s\n%s", before, text)
			}
			if json.Valid([]byte(before)) && !json.Valid(masked.Body) {
				t.Errorf("it is no JSON any more: %s", masked.Body)
			}
			if again, _ := under(2, &c.query); again.Path+string(again.Body)+again.RawQuery == masked.Path+string(masked.Body)+masked.RawQuery {
				t.Errorf("twice the same mask: %s", text)
			}
		})
	}
}

func TestWhatIsNotMasked(t *testing.T) {
	for name, q := range map[string]guard.Query{
		"packed":      {Kind: guard.Elasticsearch, ContentEncoding: "gzip", Body: []byte("{}")},
		"no text":     {Kind: guard.Elasticsearch, Body: []byte("{\"a\":\"\xff\"}")},
		"with values": {Kind: guard.SQL, Body: []byte("SELECT ?"), Args: []any{1}},
	} {
		if masked, ok := Query(&q); ok || masked.Body != nil {
			t.Errorf("%s: %+v", name, masked)
		}
	}
}

// Equal values become equal ones within a query.
func TestEqualsStayEqual(t *testing.T) {
	q := sqlQuery("postgres", "SELECT a FROM t WHERE a = 'smith' OR b = 'smith' OR c = 12345 OR d = 12345")
	masked, _ := under(1, &q)
	got := regexp.MustCompile(`'\w+'|\d+`).FindAllString(string(masked.Body), -1)
	if len(got) != 4 || got[0] != got[1] || got[2] != got[3] {
		t.Errorf("%s", masked.Body)
	}
}

// None of these takes long: nothing is looked at again and again.
func TestHostileQueries(t *testing.T) {
	const n = 50_000
	for _, part := range []string{
		`[`, `{`, `"`, `\`, `/`, `//`, `/*`, `{{`, `(`, `(?P=`, `\Q`, `\x{`, `[[:`, `{1,`, `$`, `$a$`, `'`, `a:`, `1 `, `{"terms":`, `{"a":[`, `"wrapper":{"query":"`, `AND `, `-`, `é`, `,`, `--`, `x'`, `:$a`, `/*!`, `/*+`, `//`, `{{a`,
	} {
		text := []byte(strings.Repeat(part, n/len(part)))
		for _, kind := range guard.Kinds() {
			q := guard.Query{Kind: kind, Path: "/i/_search", RawQuery: "q=" + string(text), Body: text}
			if _, ok := under(1, &q); !ok {
				t.Errorf("%s %q is not masked", kind, part)
			}
		}
	}
}

func FuzzQuery(f *testing.F) {
	kinds := guard.Kinds()
	for _, c := range told {
		for i, k := range kinds {
			if k == c.query.Kind {
				f.Add(byte(i), c.query.Path, c.query.RawQuery, c.query.Dialect, c.query.Body)
			}
		}
	}
	f.Fuzz(func(t *testing.T, kind byte, path, raw, dialect string, body []byte) {
		q := guard.Query{Kind: kinds[int(kind)%len(kinds)], Method: "POST", Path: path, RawQuery: raw, Dialect: dialect, Body: body}
		masked, ok := under(1, &q)
		if !ok {
			return
		}
		if len(masked.Body) > 8*len(body)+64 || len(masked.RawQuery) > 8*len(raw)+64 {
			t.Errorf("%d bytes of %d", len(masked.Body), len(body))
		}
		if q.Kind != guard.GraphQL && json.Valid(body) && !json.Valid(masked.Body) && (q.Kind == guard.Elasticsearch || q.Kind == guard.OpenSearch) {
			t.Errorf("%s is no JSON, %s was", masked.Body, body)
		}
	})
}

func BenchmarkQuery(b *testing.B) {
	for _, c := range told {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.query.Body)))
			for b.Loop() {
				Query(&c.query)
			}
		})
	}
}
