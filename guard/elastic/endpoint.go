package elastic

import (
	"path"
	"strings"
)

type endpoint uint8

const (
	epOther endpoint = iota
	epSearch
	epAsyncSearch
	epMultiSearch
	epCount
	epScroll
	epPit
	epDeleteByQuery
	epUpdateByQuery
	epReindex
	epTemplate
	epMultiTemplate
	epValidate
	epExplain
	epRankEval
	epFieldCaps
	epTermsEnum
	epLanguage
	epESQL
	epStatus
	epStored
	epTransform
	epGraph
	epScript
	epUnread // an endpoint with a query that is not read
)

// endpointOf splits a path into the index and the endpoint. Index names may contain slashes
// in date math: <logs-{now/d}>. A segment that only begins like an endpoint, such as _all,a
// and _origin:a, may be an index or part of a plugin.
func endpointOf(path string) (string, endpoint) {
	if strings.Contains(path, "..") || strings.Contains(path, "//") || strings.Contains(path, "/./") || strings.HasSuffix(path, "/.") {
		path = cleaned(path) // a proxy behind this one may resolve dots
	}
	path = strings.Trim(path, "/")
	if path == "" {
		return "", epSearch
	}
	for at := 0; ; {
		rest := path[at:]
		if strings.HasPrefix(rest, "_doc/_") { // a mapping type, up to version 7
			rest = rest[len("_doc/"):]
		}
		if strings.HasPrefix(rest, "_") && !isAll(rest) {
			if ep := named(rest, at > 0); ep != epOther {
				return indexOf(strings.TrimSuffix(path[:at], "/")), ep
			}
		}
		slash := strings.IndexByte(rest, '/')
		if slash < 0 {
			return indexOf(path), epOther
		}
		at += slash + 1
	}
}

// cleaned resolves dots and repeated slashes in a path, unless the result is not a query.
func cleaned(p string) string {
	if c := path.Clean("/" + p); c != p && Judges(c) {
		return c
	}
	return p
}

// Judges reports whether the guard judges requests to a path: searches and other requests
// with a query, but not requests that write documents or ask about the cluster.
func Judges(path string) bool {
	_, ep := endpointOf(path)
	return ep != epOther
}

func isAll(rest string) bool { return rest == "_all" || strings.HasPrefix(rest, "_all/") }

// indexOf removes the mapping type after an index, as in old versions.
func indexOf(s string) string {
	if slash := strings.IndexByte(s, '/'); slash >= 0 && !strings.Contains(s, "<") {
		return s[:slash]
	}
	return s
}

func named(rest string, hasIndex bool) endpoint {
	switch rest {
	case "_search", "_rollup_search", "_fleet/_fleet_search", "_knn_search", "_percolate", "_percolate/count", "_suggest", "_semantic_search":
		return epSearch
	case "_async_search", "_plugins/_asynchronous_search", "_opendistro/_asynchronous_search":
		return epAsyncSearch
	case "_msearch", "_fleet/_fleet_msearch", "_mpercolate":
		return epMultiSearch
	case "_count", "_search/exists":
		return epCount
	case "_search/scroll":
		return epScroll
	case "_pit", "_search/point_in_time":
		return epPit
	case "_delete_by_query":
		return epDeleteByQuery
	case "_update_by_query":
		return epUpdateByQuery
	case "_reindex":
		return epReindex
	case "_search/template", "_render/template":
		return epTemplate
	case "_msearch/template":
		return epMultiTemplate
	case "_validate/query":
		return epValidate
	case "_rank_eval":
		return epRankEval
	case "_field_caps":
		return epFieldCaps
	case "_terms_enum":
		return epTermsEnum
	case "_query":
		if hasIndex {
			return epDeleteByQuery // versions 1 and 2
		}
		return epESQL
	case "_query/async":
		return epESQL
	case "_sql", "_sql/translate", "_eql/search", "_ppl", "_plugins/_sql", "_plugins/_ppl", "_sql/_explain",
		"_opendistro/_sql", "_opendistro/_ppl", "_plugins/_sql/_explain", "_plugins/_ppl/_explain", "_xpack/sql":
		return epLanguage
	case "_graph/explore", "_xpack/graph/_explore":
		return epGraph
	case "_scripts/painless/_execute":
		return epScript
	case "_analyze":
		return epUnread
	}
	return under(rest, hasIndex)
}

// under returns the endpoint for paths that contain a name.
func under(rest string, hasIndex bool) endpoint {
	head, below, _ := strings.Cut(rest, "/")
	switch head {
	case "_explain":
		return epExplain
	case "_search": // up to versions 5 and 7, an ID in the path
		if strings.HasPrefix(below, "scroll/") {
			return epScroll
		}
		if strings.HasPrefix(below, "template/") {
			return epTemplate
		}
	case "_render":
		return epTemplate
	case "_async_search":
		return epStatus
	case "_scripts":
		return epStored
	case "_application":
		if strings.HasPrefix(below, "search_application/") && strings.HasSuffix(below, "/_search") {
			return epTemplate
		}
	case "_ml":
		return learning(below)
	case "_watcher", "_security":
		if strings.HasPrefix(below, "_query/") { // a search in the stored data
			return epSearch
		}
		if strings.HasPrefix(below, "watch/") {
			return epUnread
		}
	case "_xpack": // version 6
		return named("_"+below, false)
	case "_query": // views
		if !hasIndex {
			return epESQL
		}
	case "_text_structure":
		if below == "test_grok_pattern" {
			return epUnread
		}
	case "_plugins", "_opendistro":
		return plugin(below)
	case "_ingest":
		if strings.HasSuffix(rest, "/_simulate") {
			return epUnread
		}
	case "_transform", "_data_frame":
		return epTransform
	case "_mvt":
		return epSearch
	case "_validate":
		return epValidate
	}
	return epOther
}

// learning returns the endpoint for machine learning paths.
func learning(below string) endpoint {
	switch {
	case strings.HasPrefix(below, "datafeeds/"):
		return epUnread
	case strings.HasPrefix(below, "data_frame/analytics/"):
		return epTransform
	case below == "data_frame/_evaluate":
		return epCount
	}
	return epOther
}

// plugin returns the endpoint for paths of OpenSearch's plugins.
func plugin(below string) endpoint {
	switch {
	case strings.HasSuffix(below, "/_search"): // a search in the plugin's own data
		return epSearch
	case strings.HasPrefix(below, "_alerting/monitors"), strings.HasPrefix(below, "_anomaly_detection/detectors"):
		return epUnread
	case strings.HasPrefix(below, "_transform"):
		return epTransform
	}
	return epOther
}
