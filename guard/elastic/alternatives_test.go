package elastic_test

import (
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// What each of several alternatives bounds, they bound together.
func TestAlternativesBoundWhatIsBelow(t *testing.T) {
	minutes := func(query string) string {
		return `{"size":0,"query":` + query + `,"aggs":{"h":{"date_histogram":{"field":"t","fixed_interval":"1m"}}}}`
	}
	seconds := func(agg string) string {
		return `{"size":0,"aggs":{"a":{` + agg + `,"aggs":{"h":{"date_histogram":{"field":"t","fixed_interval":"10s"}}}}}}`
	}
	filled := func(query, h string) string {
		return `{"size":0,"query":` + query + `,"aggs":{"h":{"date_histogram":{"field":"t","fixed_interval":"1m"` + h + `}}}}`
	}
	cells := func(query string) string {
		return `{"size":0,"query":` + query + `,"aggs":{"g":{"geohash_grid":{"field":"at","precision":7}}}}`
	}
	const (
		thisDay   = `{"range":{"t":{"gte":"2026-01-08","lt":"2026-01-09"}}}`
		weekAgo   = `{"range":{"t":{"gte":"2026-01-01","lt":"2026-01-02"}}}`
		yearAgo   = `{"range":{"t":{"gte":"2025-01-08","lt":"2025-01-09"}}}`
		relative  = `{"range":{"t":{"gte":"now-1d","lt":"now"}}}`
		otherTerm = `{"term":{"u":"a"}}`
		oslo      = `{"geo_distance":{"distance":"5km","at":"59.9,10.7"}}`
		fiji      = `{"geo_bounding_box":{"at":{"top_left":[179.9,-17],"bottom_right":[-179.9,-17.2]}}}`
	)
	check(t, []scenario{
		{"two days", "POST /x/_search", minutes(`{"bool":{"should":[` + thisDay + `,` + weekAgo + `]}}`), ""},
		{"two days and what else must match", "POST /x/_search", minutes(`{"bool":{"filter":[` + otherTerm + `],"should":[` + thisDay + `,` + weekAgo + `],"minimum_should_match":1}}`), ""},
		{"none of the alternatives is asked for", "POST /x/_search", minutes(`{"bool":{"should":[` + thisDay + `,` + weekAgo + `],"minimum_should_match":0}}`), ""},
		{"days within alternatives", "POST /x/_search", minutes(`{"dis_max":{"queries":[{"bool":{"must":[` + otherTerm + `,` + thisDay + `,` + relativeless + `]}},{"bool":{"filter":[` + weekAgo + `]}}]}}`), ""},
		{"alternatives within alternatives", "POST /x/_search", minutes(`{"bool":{"should":[{"bool":{"should":[` + thisDay + `,` + weekAgo + `]}},` + thisDay + `]}}`), ""},
		{"an alternative that adds nothing", "POST /x/_search", minutes(`{"bool":{"should":[{"match_none":{}},` + thisDay + `]}}`), ""},
		{"days far apart", "POST /x/_search", filled(`{"bool":{"should":[`+thisDay+`,`+yearAgo+`]}}`, ``), "agg_product histogram_span"},
		{"days far apart, without the gap", "POST /x/_search", filled(`{"bool":{"should":[`+thisDay+`,`+yearAgo+`]}}`, `,"min_doc_count":1`), ""},
		{"years of alternatives, without gaps", "POST /x/_search", filled(`{"bool":{"should":[{"range":{"t":{"gte":"2020","lt":"2021"}}},{"range":{"t":{"gte":"2022","lt":"2023"}}}]}}`, `,"min_doc_count":1`), "agg_product histogram_span"},
		{"an alternative without a day", "POST /x/_search", minutes(`{"bool":{"should":[` + thisDay + `,` + otherTerm + `]}}`), "histogram_span"},
		{"the first one is without a day", "POST /x/_search", minutes(`{"bool":{"should":[` + otherTerm + `,` + thisDay + `]}}`), "histogram_span"},
		{"alternatives that need not match", "POST /x/_search", minutes(`{"bool":{"must":[` + otherTerm + `],"should":[` + thisDay + `,` + weekAgo + `]}}`), "histogram_span"},
		{"two ranges from now", "POST /x/_search", minutes(`{"bool":{"should":[` + relative + `,{"range":{"t":{"gte":"now-7d"}}}]}}`), ""},
		{"one of them far into the future", "POST /x/_search", minutes(`{"bool":{"should":[{"range":{"t":{"gte":"now-7d"}}},{"range":{"t":{"gte":"now-1d","lt":"now+5y"}}}]}}`), "agg_product histogram_span"},
		{"days by two clocks", "POST /x/_search", minutes(`{"bool":{"should":[` + thisDay + `,` + relative + `]}}`), "histogram_span"},
		{"what must not match", "POST /x/_search", minutes(`{"bool":{"must_not":[` + thisDay + `,` + weekAgo + `]}}`), "histogram_span"},

		{"filters, each of a day", "POST /x/_search", seconds(`"filters":{"filters":{"now":` + thisDay + `,"then":{"range":{"t":{"gte":"2026-01-07","lt":"2026-01-08"}}}}}`), ""},
		{"filters a year apart", "POST /x/_search", seconds(`"filters":{"filters":[` + thisDay + `,` + yearAgo + `]}`), ""},
		{"filters, one of years", "POST /x/_search", seconds(`"filters":{"filters":[{"range":{"t":{"gte":"2020","lt":"2024"}}},` + thisDay + `]}`), "agg_product histogram_span"},
		{"a filter that is of two days", "POST /x/_search", seconds(`"filters":{"filters":[{"bool":{"should":[` + thisDay + `,` + yearAgo + `]}}]}`), "agg_product histogram_span"},
		{"filters in a list", "POST /x/_search", seconds(`"filters":{"filters":[` + thisDay + `]}`), ""},
		{"filters, and what passes none", "POST /x/_search", seconds(`"filters":{"other_bucket":true,"filters":[` + thisDay + `]}`), "histogram_span"},
		{"a filter without a day", "POST /x/_search", seconds(`"filters":{"filters":[` + thisDay + `,` + otherTerm + `]}`), "histogram_span"},
		{"ranges of dates", "POST /x/_search", seconds(`"date_range":{"field":"t","format":"yyyy-MM-dd","ranges":[{"from":"2026-01-01","to":"2026-01-02"},{"from":"2026-01-02","to":"2026-01-03"}]}`), ""},
		{"ranges a year apart", "POST /x/_search", seconds(`"date_range":{"field":"t","ranges":[{"from":"2026-01-01","to":"2026-01-02"},{"from":"2025-01-02","to":"2025-01-03"}]}`), ""},
		{"ranges without an end", "POST /x/_search", seconds(`"date_range":{"field":"t","ranges":[{"to":"2026-01-02"},{"from":"2026-01-02","to":"2026-01-03"}]}`), "histogram_span"},
		{"ranges of another field", "POST /x/_search", seconds(`"range":{"field":"n","ranges":[{"from":1,"to":2}]}`), "histogram_span"},
		{"what was bounded in a bucket is not beside it", "POST /x/_search", `{"size":0,"aggs":{"a":{"filters":{"filters":[` + thisDay + `]}},"h":{"date_histogram":{"field":"t","fixed_interval":"1m"}}}}`, "histogram_span"},
		{"customers of some", "POST /shop/_search", `{"size":0,"aggs":{"f":{"filters":{"filters":[` + otherTerm + `]},"aggs":{"c":{"terms":{"field":"customer"}}}}}}`, ""},
		{"customers of some, and of all others", "POST /shop/_search", `{"size":0,"aggs":{"f":{"filters":{"other_bucket_key":"o","filters":[` + otherTerm + `]},"aggs":{"c":{"terms":{"field":"customer"}}}}}}`, "agg_cardinality"},
		{"a filter of a facet", "POST /x/_search", `{"size":0,"facets":{"h":{"date_histogram":{"field":"t","interval":"1m"},"facet_filter":{"fquery":{"query":` + thisDay + `}}}}}`, ""},

		{"two places in a town", "POST /x/_search", cells(`{"bool":{"should":[` + oslo + `,{"geo_distance":{"distance":"2km","at":"59.95,10.75"}}]}}`), ""},
		{"two ends of the earth", "POST /x/_search", cells(`{"bool":{"should":[` + oslo + `,{"geo_distance":{"distance":"2km","at":"-36.8,174.7"}}]}}`), "geo_cells"},
		{"a place and the date line", "POST /x/_search", cells(`{"bool":{"should":[` + fiji + `,` + oslo + `]}}`), "geo_cells"},
		{"a place and anywhere", "POST /x/_search", cells(`{"bool":{"should":[` + oslo + `,` + otherTerm + `]}}`), "geo_cells"},
		{"as many alternatives as there may be", "POST /x/_search", minutes(`{"bool":{"should":[` + strings.Repeat(thisDay+`,`, 900) + weekAgo + `]}}`), ""},
	})
}

// relativeless is a range that says nothing of the day.
const relativeless = `{"range":{"n":{"gte":1}}}`

func TestComparisonsInTextBound(t *testing.T) {
	minutes := func(text string) string {
		return `{"size":0,"query":{"query_string":{"query":"` + text + `"}},"aggs":{"h":{"date_histogram":{"field":"t","fixed_interval":"1m"}}}}`
	}
	check(t, []scenario{
		{"between two days", "POST /x/_search", minutes(`t:>=2026-01-01 AND t:<2026-01-02 AND u:a`), ""},
		{"quoted", "POST /x/_search", minutes(`t:>\"2026-01-01T00:00:00\" AND t:<=\"2026-01-02T00:00:00\"`), ""},
		{"since an hour", "POST /x/_search", minutes(`t:>now-1h`), ""},
		{"one end", "POST /x/_search", minutes(`t:<2026-01-01`), "histogram_span"},
		{"not since then", "POST /x/_search", minutes(`NOT t:>now-1h`), "histogram_span"},
		{"or since then", "POST /x/_search", minutes(`u:a OR t:>now-1h`), "histogram_span"},
		{"somewhere within", "POST /x/_search", minutes(`u:a AND (u:b OR t:>now-1h)`), "histogram_span"},
		{"another field", "POST /x/_search", minutes(`n:>10 AND t:a AND n:<20`), "histogram_span"},
		{"in the URL", "GET /x/_search?q=t:%3Enow-1h", `{"size":0,"aggs":{"h":{"date_histogram":{"field":"t","fixed_interval":"1m"}}}}`, ""},
	})
}

func TestNamesOfIndicesTellTheirTime(t *testing.T) {
	const (
		minutes = `{"size":0,"aggs":{"h":{"date_histogram":{"field":"t","fixed_interval":"1m"}}}}`
		seconds = `{"size":0,"aggs":{"h":{"date_histogram":{"field":"t","fixed_interval":"1s"}}}}`
	)
	check(t, []scenario{
		{"a day", "GET /logs-2026.11.28/_search", minutes, ""},
		{"a month", "GET /logs-2026-11-*/_search", minutes, ""},
		{"days", "GET /a-2026.11.27,a-2026.11.28/_search", minutes, ""},
		{"date math", "GET /<logs-{now/d}>,<logs-{now/d-1d{yyyy.MM.dd}}>/_search", minutes, ""},
		{"one that rolls over", "GET /.ds-logs-nginx-2026.11.28-000001/_search", minutes, ""},
		{"a day of seconds: it may have rolled over late", "GET /logs-2026.11.28/_search", seconds, "histogram_span"},
		{"a year", "GET /logs-2026/_search", minutes, "histogram_span"},
		{"a version", "GET /.app_8.11.0_001/_search", minutes, "histogram_span"},
		{"a year apart", "GET /a-2025.11.27,a-2026.11.28/_search", minutes, "histogram_span"},
		{"and another", "GET /a-2026.11.27,b/_search", minutes, "histogram_span"},
		{"two clocks", "GET /a-2026.11.27,<logs-{now/d}>/_search", minutes, "histogram_span"},
		{"no date", "GET /a-2026-13-01,a-19-12/_search", minutes, "histogram_span"},
	})
}

// What begins at a date and does not end goes to now, and what ends now begins there.
func TestOpenRangesEndNow(t *testing.T) {
	minutes := func(bounds string) string {
		return `{"size":0,"query":{"range":{"t":{` + bounds + `}}},"aggs":{"h":{"date_histogram":{"field":"t","fixed_interval":"1m"}}}}`
	}
	check(t, []scenario{
		{"since a day", "POST /x/_search", minutes(`"gte":"2026-11-20"`), ""},
		{"since a day till now", "POST /x/_search", minutes(`"gte":"2026-11-20","lt":"now"`), ""},
		{"since a day in milliseconds", "POST /x/_search", minutes(`"gte":1795132800000,"format":"epoch_millis"`), ""},
		{"from a moment to a day", "POST /x/_search", minutes(`"gte":"now-30d","lt":"2026-11-27"`), ""},
		{"since a day, where nothing else is known to end", "POST /metrics-*/_search", minutes(`"gte":"2026-11-20"`), ""},
		{"since long ago", "POST /x/_search", minutes(`"gte":"2026-01-01"`), "histogram_span"},
		{"since before what is assumed", "POST /x/_search", minutes(`"gte":"1998-01-01"`), "histogram_span"},
		{"since a day that has not come", "POST /x/_search", minutes(`"gte":"2027-01-01"`), "histogram_span"},
		{"up to a day", "POST /x/_search", minutes(`"lt":"2026-11-20"`), "histogram_span"},
		{"up to years from now", "POST /x/_search", minutes(`"gte":"2026-11-20","lt":"now+3y"`), "histogram_span"},
	})
	filled := func(bounds, ends string) string {
		return strings.Replace(minutes(bounds), `"1m"`, `"1m","extended_bounds":{`+ends+`}`, 1)
	}
	check(t, []scenario{
		{"filled since a day", "POST /x/_search", filled(`"gte":"now-1d"`, `"min":"2026-11-20"`), ""},
		{"filled since long ago", "POST /x/_search", filled(`"gte":"now-1d"`, `"min":"2000-01-01"`), "agg_product histogram_span"},
		{"filled by two clocks", "POST /x/_search", filled(`"gte":"now-1d","lt":"now"`, `"min":"now-1d","max":"2026-11-28"`), ""},
		{"filled till years from now", "POST /x/_search", filled(`"gte":"now-1d","lt":"now"`, `"min":"now-1d","max":"2036-11-28"`), "agg_product histogram_span"},
	})
	ms, err := read(t, "POST /x/_search", minutes(`"gte":"2026-11-20"`), cost.Options{})
	if v, _ := valueOf(ms, cost.HistogramSpan); err != nil || v < 1e6 {
		t.Errorf("without a clock: %v buckets, %v; want those of five years", v, err)
	}
}
