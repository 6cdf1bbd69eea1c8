package guard

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Of these queries nothing may be shown that says SECRET or 8086, in any case or
// place.
var secrets = []struct {
	name  string
	query Query
}{
	{
		"clauses", search("/KEEP/_search", `{"query":{"bool":{"must":[{"term":{"KEEP":"SECRET"}},{"term":{"KEEP":{"value":8086,"boost":17.5}}},{"terms":{"KEEP":["SECRET",8086,"SECRET"]}},
		{"match":{"KEEP":{"query":"the SECRET of 8086","operator":"and","fuzziness":"AUTO:12,34"}}},{"multi_match":{"query":"SECRET","fields":["KEEP^12"],"type":"phrase"}},
		{"range":{"KEEP":{"gte":8086,"lte":"SECRET"}}},{"range":{"at":{"gte":"now-7d/d","lt":"2024-10-31"}}},{"ids":{"values":["SECRET",8086]}},{"prefix":{"KEEP":"SECRET"}},
		{"more_like_this":{"fields":["KEEP"],"like":["SECRET",{"_id":"8086"}],"max_query_terms":25}},{"exists":{"field":"KEEP"}},{"fuzzy":{"KEEP":{"value":"SECRET"}}},
		{"terms":{"KEEP":{"index":"KEEP","id":"SECRET","path":"KEEP"}}},{"match_phrase":{"KEEP":"SECRET"}}]}},"size":345,"from":120,"search_after":["SECRET",8086],"sort":[{"KEEP":"desc"}]}`),
	},
	{
		"aggregations", search("/i/_search", `{"aggs":{"KEEP":{"terms":{"field":"KEEP","size":5000,"include":"SECRET.*[0-9]{2,3}","exclude":["SECRET"],"missing":"SECRET"},
		"aggs":{"b":{"filters":{"filters":{"name:SECRET":{"term":{"KEEP":"SECRET"}}}}},"c":{"range":{"field":"KEEP","ranges":[{"from":12,"to":345,"key":"SECRET"},{"from":"80.86.80.86"}]}},
		"d":{"composite":{"size":777,"sources":[{"KEEP":{"terms":{"field":"KEEP"}}}],"after":{"KEEP":"SECRET 8086"}}}}}}}`),
	},
	{
		"patterns", search("/i/_search", `{"query":{"bool":{"should":[{"wildcard":{"KEEP":{"value":"*SEC?RET*"}}},{"regexp":{"KEEP":"(SECRET|8086)+.*[a-f]"}},
		{"query_string":{"query":"KEEP:SECRET AND (8086 OR *SECRET~2^17) NOT KEEP:[8086 TO now-17d] /SE+CRET/ _exists_:KEEP \"SECRET words\"~12","default_field":"KEEP"}}]}}}`),
	},
	{
		"names and comments", search("/i/_search", "{\"query\": /* SECRET */ {\"term\": {\"KEEP\": \"\\u0053ECRET \\\"8086\\\"\"}}, // SECRET\r \"_name\": \"SECRET\", \"preference\": \"SECRET\", \"runtime_mappings\": {\"KEEP\": {\"type\": \"long\", \"script\": {\"source\": \"emit(KEEP(doc['SECRET'])) // SECRET\", \"params\": {\"KEEP\": \"SECRET 8086\"}}}}}"),
	},
	{
		"vectors and places", search("/i/_search", `{"knn":{"field":"KEEP","query_vector":[0.8086123,-0.80861],"k":10,"num_candidates":333},"query":{"bool":{"must":[
		{"geo_distance":{"distance":"12km","KEEP":{"lat":52.8086,"lon":"4.8086"}}},{"weighted_tokens":{"KEEP":{"tokens":{"SECRET":0.8086}}}},{"percolate":{"field":"KEEP","document":{"KEEP":"SECRET"}}},{"wrapper":{"query":"eyJ0ZXJtIjp7IktFRVAiOiJTRUNSRVQifX0="}}]}}}`),
	},
	{"a template", search("/i/_search/template", `{"source":"{\"query\":{\"term\":{\"KEEP\":\"{{KEEP}}\"}},\"size\":{{n}},\"x\":\"SECRET\"}","params":{"KEEP":"SECRET","n":500}}`)},
	{"many searches", search("/_msearch", "{\"index\":\"KEEP\",\"routing\":\"SECRET\"}\n{\"query\":{\"match\":{\"KEEP\":\"SECRET\"}},\"size\":99}\n{}\n{\"query\":{\"match_all\":{}}}\n")},
	{"a URL", Query{Kind: OpenSearch, Method: "GET", Path: "/KEEP/_search", RawQuery: "q=KEEP%3ASECRET+AND+8086&size=500&routing=SECRET&preference=SECRET&SECRET&pretty&sort=KEEP:desc&x;KEEP=SECRET"}},
	{
		"fields that are called like parts of a query", search("/i/_search", `{"query":{"bool":{"must":[{"term":{"field":"SECRET"}},{"match":{"field":"SECRET"}},{"wildcard":{"script":"*SECRET*"}},{"range":{"KEEP":{"from":8086,"to":"SECRET"}}},{"range":{"KEEP":{"from":"SECRET"}}}]}},
		"suggest":{"s":{"text":"SECRET","term":{"field":"KEEP"}}}}`),
	},
	{
		"numbers without a field", search("/i/_search", `{"query":{"bool":{"must":[{"multi_match":{"query":8086,"fields":["KEEP"]}},{"query_string":{"query":8086}},{"match":{"KEEP":{"query":"{{SECRET}}"}}},
		{"rule":{"match_criteria":{"type":"SECRET"},"organic":{"match_all":{}}}}]}},"slice":{"id":12,"max":20}}`),
	},
	{"what is put where nothing is", search("/i/_update/SECRET", `{"script":{"source":"KEEP"},"upsert":{"type":"SECRET","KEEP":8086}}`)},
	{"a template's long numbers", search("/_search/template", `{"id":"x","params":{"KEEP":80868086808680,"size":500}}`)},
	{"a number with a long exponent", search("/i/_search", `{"query":{"term":{"KEEP":1}},"KEEP":0E8086808680}`)},
	{"words without quotes", search("/i/_search", "{'KEEP':{KEEP:SECRET,\"KEEP\":'SECRET'}} SECRET")},
	{"a text", search("/_search/scroll", `SECRET8086AAAA`)},
	{"a text in quotes", search("/i/_search", `["SECRET"]`)},
	{"numbers that are nearly JSON", search("/i/_search", `{"size": 500, "query":{"term":{"KEEP":8086}} SECRET`)},
	{"ES|QL", search("/_query", "{\"query\":\"FROM KEEP // SECRET\\n | WHERE KEEP == \\\"SECRET\\\" OR KEEP == \\\"\\\"\\\"SECRET\\\"\\\"\\\" AND id > 8086 | LIMIT 250\"}")},
	{"PPL", Query{Kind: OpenSearch, Method: "POST", Path: "/_plugins/_ppl", Body: []byte(`{"query":"source=KEEP | where KEEP=\"SECRET\" | head 10"}`)}},
	{"SQL of OpenSearch", Query{Kind: OpenSearch, Method: "POST", Path: "/_plugins/_sql", Body: []byte(`{"query":"select KEEP from KEEP where KEEP = \"SECRET\" limit 25"}`)}},
	{"ids of old paths", Query{Kind: Elasticsearch, Method: "GET", Path: "/i/t/SECRET/_mlt"}},
	{"ids of asynchronous queries", Query{Kind: Elasticsearch, Method: "GET", Path: "/_sql/async/status/SECRET"}},
	{"ids of sequences", Query{Kind: Elasticsearch, Method: "GET", Path: "/_eql//search/SECRET"}},
	{"ids in a path", Query{Kind: Elasticsearch, Method: "GET", Path: "/KEEP/_explain/SECRET-8086"}},
	{"nearly JSON", search("/i/_search", `{"query":{"term":{"KEEP":"SECRET"}}`)},
	{
		"statements", sqlQuery("postgres", "SELECT KEEP, lower('SECRET') -- SECRET 8086\nFROM \"KEEP\" /* SECRET */ WHERE KEEP = 'SECRET''s' AND n IN (8086, 80860, '8086') AND KEEP LIKE '%SEC_RET%' AND KEEP ~ '^(SECRET|x)+$' AND x > 8086.5 AND e = E'SECRET\\x38' AND d = $$SECRET$$ AND at > now() - interval '17 days' ORDER BY 1 LIMIT 345 OFFSET 1234"),
	},
	{
		"other statements", sqlQuery("mysql", "INSERT INTO KEEP (a, KEEP) VALUES (\"SECRET\", 8086), ('SEC\\'RET', 0x38303836); # SECRET\nUPDATE KEEP SET a = 'SECRET' WHERE id = 80864; SELECT date_format(at, 'SECRET') FROM KEEP LIMIT 20, 45 /*+ KEEP(1) */"),
	},
	{
		"comments of all kinds", sqlQuery("postgres", "SELECT /*+ KEEP(12) */ /* SECRET */ 1 /*! SECRET */ FROM /* SECRET /* SECRET */ 8086 */ KEEP /*M! 8086 */ WHERE a = 8086 /*+ SECRET"),
	},
	{"code of some versions", sqlQuery("mysql", "SELECT KEEP /*!50000 , 'SECRET' */ FROM KEEP WHERE a = 1 LIMIT 10")},
	{
		"strings beside sizes", sqlQuery("postgres", "SELECT repeat('SECRET', 3), lpad(KEEP, 300, 'SECRET'), interval 'SECRET', b'SECRET', '{{SECRET}}', interval '2 days 01:30' FROM KEEP WHERE a = 1 LIMIT (SELECT KEEP FROM KEEP WHERE b = 'SECRET' LIMIT 1)"),
	},
	{"values in what goes round", sqlQuery("postgres", "WITH RECURSIVE KEEP(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM KEEP WHERE n < 12345) SELECT n FROM KEEP WHERE id = 8086808680868086")},
	{"what is quoted in an expression", Query{Kind: Regex, Dialect: "pcre", Body: []byte(`^\QSECRET\E.*(\QSECRET|a)+$`)}},
	{"variables in a URL", Query{Kind: GraphQL, Method: "GET", Path: "/graphql", RawQuery: "query=query(%24query:String%3D%22SECRET%22)%7BKEEP(a:%24query)%7D&variables=%7B%22query%22:%22SECRET+b%22,%22operationName%22:%22SECRET%22%7D"}},
	{"values by default", Query{Kind: GraphQL, Method: "POST", Path: "/graphql", ContentType: "application/json", Body: []byte(`{"query":"query($KEEP:Int=80868086808680){KEEP(id:$KEEP)}","extensions":{"query":"SECRET b"}}`)}},
	{"made rows", sqlQuery("postgres", "SELECT * FROM generate_series(1, 5000000) AS s WHERE KEEP = 'SECRET' AND id = 8086")},
	{"statements that end nowhere", sqlQuery("postgres", "SELECT KEEP FROM KEEP WHERE a = 80861 AND b = 'SECRET 8086")},
	{"code", sqlQuery("postgres", "DO $$ BEGIN EXECUTE 'DELETE FROM KEEP WHERE a = ''SECRET'' AND b = 8086'; END $$")},
	{"an expression", Query{Kind: Regex, Dialect: "js", Body: []byte(`^SECRET(?<KEEP>\d{2,30}|8086)*[a-z]+(?:SE|CRET)$`)}},
	{"a form", Query{Kind: GraphQL, Method: "POST", Path: "/graphql", ContentType: "application/x-www-form-urlencoded", Body: []byte("token=SECRET&query=%7BKEEP(first%3A450,a%3A%22SECRET%22)%7D&variables=%7B%22KEEP%22%3A%22SECRET%22%7D&id=8086")}},
	{"a form that nobody names", Query{Kind: GraphQL, Method: "POST", Path: "/graphql", Body: []byte("token=SECRET&query={KEEP(itemsPerPage:450,a:%22SECRET%22)}")}},
	{"a form with files that nobody names", Query{Kind: GraphQL, Method: "POST", Path: "/graphql", Body: []byte("--x\r\nContent-Disposition: form-data; name=\"token\"\r\n\r\nSECRET 8086\r\n--x--")}},
	{"a document", Query{Kind: GraphQL, Method: "POST", Path: "/graphql", Body: []byte("query KEEP($KEEP: Int = 12) { KEEP(id: 8086, first: 450, name: \"SECRET\", text: \"\"\"SECRET\"\"\") { KEEP(last: $KEEP) } } # SECRET")}},
	{
		"a request",
		Query{Kind: GraphQL, Method: "POST", Path: "/graphql", ContentType: "application/json", Body: []byte(`{"variables":{"n":500,"id":8086,"KEEP":{"KEEP":"SECRET","first":70}},"query":"query KEEP($n: Int) { KEEP(first: $n, id: \"SECRET\") { KEEP } }","operationName":"KEEP","extensions":{"hash":"SECRET"}}`)},
	},
}

func search(path, body string) Query {
	return Query{Kind: Elasticsearch, Method: "POST", Path: path, ContentType: "application/json", Body: []byte(body)}
}

func sqlQuery(dialect, text string) Query {
	return Query{Kind: SQL, Dialect: dialect, Body: []byte(text)}
}

var secret = regexp.MustCompile(`(?i)secret|8086|80\.86|sec.ret|sec..ret`)

func TestOutlinesTellNoValues(t *testing.T) {
	for _, c := range secrets {
		text := outline(&c.query)
		if found := secret.FindString(text); found != "" {
			t.Errorf("%s: %q is in\n%s", c.name, found, text)
		}
	}
}

func TestOutlines(t *testing.T) {
	for _, c := range []struct {
		query Query
		want  string
	}{
		{
			search("/i/_search", `{"size":20, "query":{"bool":{"filter":[{"term":{"user.id":"ann"}},{"terms":{"n":[1,2,3]}}]}}, "aggs":{"a":{"terms":{"field":"host","size":50}}}, "x": true}`),
			`{"size": 20, "query": {"bool": {"filter": [{"term": {"user.id": ?}}, {"terms": {"n": [?]}}]}}, "aggs": {"a": {"terms": {"field": "host", "size": 50}}}, "x": true}`,
		},
		{search("/_msearch", "{\"index\":\"a\"}\n{\"size\":3}\n"), `{"index": ?}{"size": 3}`},
		{Query{Kind: OpenSearch, Path: "/i/_doc/7", RawQuery: "size=9&q=ann&pretty"}, `/i/_doc/??size=9&q=?&?=?`},
		{sqlQuery("postgres", "SELECT a FROM \"t\" -- why\n WHERE b = 'it''s' AND c IN (1, 2) LIMIT 50"), `SELECT a FROM "t" WHERE b = ? AND c IN (?, ?) LIMIT 50`},
		{sqlQuery("mysql", "SELECT a FROM t WHERE b = \"x\" AND c = 0x41"), `SELECT a FROM t WHERE b = ? AND c = ?`},
		{
			sqlQuery("", `SELECT "id", lower("t"."b") FROM "t" WHERE "mail" = "ann@x" AND b LIKE "%ann%" AND c IN ("x", "y") AND "d" BETWEEN "k" AND "l" AND "t"."e" <> "u"."e" AND "f" > 5`),
			`SELECT "id", lower("t"."b") FROM "t" WHERE "mail" = ? AND b LIKE ? AND c IN (?, ?) AND "d" BETWEEN ? AND ? AND "t"."e" <> "u"."e" AND "f" > ?`,
		},
		{sqlQuery("generic", `INSERT INTO "t" ("a", "b") VALUES ("x", 1), ("y", 2); SELECT coalesce("a", "b") FROM t`), `INSERT INTO "t" ("a", "b") VALUES (?, ?), (?, ?); SELECT coalesce("a", "b") FROM t`},
		{sqlQuery("postgres", `SELECT 1 FROM a WHERE "b" = "c"`), `SELECT ? FROM a WHERE "b" = "c"`},
		{Query{Kind: GraphQL, Body: []byte(`query Q($n: Int = 5) { a(first: 10, id: 7, s: """x \""" y""") { b } } # c`)}, `query Q($n: Int = ?) { a(first: 10, id: ?, s: ?) { b } } `},
		{Query{Kind: GraphQL, Body: []byte(`{"query": "{ a }", "variables": {"n": 5}}`)}, `{"query": ?, "variables": {"n": ?}}`},
		{Query{Kind: Regex, Body: []byte("a+")}, ""},
		{Query{Kind: SQL, Body: []byte("SELECT 1"), ContentEncoding: "gzip"}, ""},
	} {
		if got := outline(&c.query); got != c.want {
			t.Errorf("%s\n%s, want\n%s", c.query.Body, got, c.want)
		}
	}
}

// Where JSON has no colon nothing is a name, however its quotes are set, and no
// letter or digit is left.
func TestOutlinesOfAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`([{}\[\]"', $#/*\\\n-]|"SECRET"|12345678901|field|aggs|terms){0,40}`).Draw(t, "text")
		if got := outline(&Query{Kind: Elasticsearch, Body: []byte(text + "x")}); strings.Trim(got, "{}[]?, ") != "" {
			t.Fatalf("%q becomes %q", text, got)
		}
	})
}
