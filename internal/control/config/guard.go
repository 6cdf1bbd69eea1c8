package config

import (
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/guard/redos"
	"github.com/bezoar-dev/bezoar/guard/sql"
)

// Guard checks the queries of a route against limits before a worker sees them.
type Guard struct {
	Query      string     `yaml:"query"`       // Language of the queries: elasticsearch, opensearch, sql, graphql or regex.
	Regex      string     `yaml:"regex"`       // Where regular expressions are: query:NAME, header:NAME, form:NAME or json:$.a.b. Several are separated by commas.
	Statement  string     `yaml:"statement"`   // Where the SQL statement is, written as in regex. Default: the whole body.
	Dialect    string     `yaml:"dialect"`     // Dialect of SQL or of the regular expressions.
	Prefix     string     `yaml:"prefix"`      // Prefix in front of the paths of Elasticsearch, such as /es.
	Limits     string     `yaml:"limits"`      // File with the limits.
	Rules      string     `yaml:"rules"`       // The limits, written here instead of in a file.
	Hints      string     `yaml:"hints"`       // File with facts about the backend, such as the sizes of its tables.
	Poll       *GuardPoll `yaml:"poll"`        // Asks the backend for hints. Absent: never.
	ReportOnly bool       `yaml:"report_only"` // Reports what would be refused, and refuses nothing.

	Record *GuardRecord `yaml:"record"` // Keeps queries in a file, for replay. Absent: none.

	Slow     time.Duration `yaml:"slow" range:"1ms..24h"`      // Queries that take longer are logged.
	SlowText Size          `yaml:"slow_text" range:"0..64KiB"` // Bytes of a slow query's text to log. The text may hold secrets. Default: none.
}

func (g *Guard) setDefaults() { *g = Guard{Slow: 10 * time.Second} }

// GuardPoll polls Elasticsearch or OpenSearch for mappings and sizes.
type GuardPoll struct {
	URL     string        `yaml:"url"`                    // URL of the backend.
	AuthEnv string        `yaml:"authorization_env"`      // Environment variable whose value is sent as Authorization.
	Every   time.Duration `yaml:"every" range:"10s..24h"` // Time between two polls.
	Indices []string      `yaml:"indices"`                // Patterns of index names. A - in front excludes.
}

func (p *GuardPoll) setDefaults() { *p = GuardPoll{Every: 10 * time.Minute, Indices: []string{"*"}} }

func (g *Guard) check(k *checker, at string, match *Match) {
	k.add(at+".query", choiceFlaw(g.Query, []string{"elasticsearch", "opensearch", "sql", "graphql", "regex"}))
	k.add(at, flawIf(g.Query == "regex" && g.Regex == "", "add regex: query:NAME, or another place", "does not say where the expressions are"), at+".regex")
	k.when(g.Regex != "" && g.Query != "regex", at+".regex", "make it query: regex", "has no effect for %s", quoted(g.Query))
	k.when(g.Statement != "" && g.Query != "sql", at+".statement", "remove it", "has no effect for %s", quoted(g.Query))
	k.add(at+".dialect", g.dialectFlaw())
	for key, places := range map[string]string{"regex": g.Regex, "statement": g.Statement} {
		for _, p := range Places(places) {
			if f := placeFlaw(p); f != nil {
				k.add(at+"."+key, f)
				break
			}
		}
	}
	k.when(g.Limits != "" && g.Rules != "", at+".rules", "keep one", "limits names a file as well")
	g.checkPrefix(k, at, match)
	if g.Record != nil {
		g.Record.check(k, at+".record")
	}
	if p := g.Poll; p != nil {
		k.add(at+".poll.url", urlFlaw(p.URL))
		k.when(!g.searches(), at+".poll", "remove it, or name a hints file", "polls Elasticsearch or OpenSearch, but the guard is for %s", quoted(g.Query))
		k.when(p.AuthEnv != "" && !envName.MatchString(p.AuthEnv), at+".poll.authorization_env", "name an environment variable", "%s is not the name of an environment variable", quoted(p.AuthEnv))
		if n := len(p.Indices); n > maxEntries {
			k.addf(at+".poll", "keep fewer", "has %d indices, more than %d", n, maxEntries)
		}
	}
}

// searches reports whether the guard is for Elasticsearch or OpenSearch.
func (g *Guard) searches() bool { return g.Query == "elasticsearch" || g.Query == "opensearch" }

func (g *Guard) dialectFlaw() *flaw {
	if g.Dialect == "" {
		return nil
	}
	switch g.Query {
	case "sql":
		base, _, _ := strings.Cut(g.Dialect, "+")
		if _, err := sql.ParseDialect(base); err != nil {
			return flawf("write "+strings.Join(sql.Dialects(), ", ")+didYouMean(base, sql.Dialects()), "%s is not a dialect of SQL", quoted(base))
		}
		if _, err := sql.ParseDialect(g.Dialect); err != nil {
			return flawf("correct the part after the +", "%v", err)
		}
	case "regex":
		base, _, _ := strings.Cut(g.Dialect, "/")
		if _, err := redos.ParseDialect(base); err != nil {
			return flawf("write "+strings.Join(redos.Dialects(), ", ")+didYouMean(base, redos.Dialects()), "%s is not a dialect of regular expressions", quoted(base))
		}
	default:
		return flawf("remove it", "has no effect for %s", quoted(g.Query))
	}
	return nil
}

// checkPrefix checks the prefix against the paths of the route: a prefix that no request of
// the route has would refuse all of them.
func (g *Guard) checkPrefix(k *checker, at string, match *Match) {
	path := strings.TrimSuffix(match.Path, "*")
	switch {
	case g.Prefix == "":
	case !g.searches():
		k.addf(at+".prefix", "remove it", "has no effect for %s", quoted(g.Query))
	case !pathPrefix.MatchString(g.Prefix):
		k.addf(at+".prefix", "write a path such as /es", "%s is not a path prefix", quoted(g.Prefix))
	case !strings.HasPrefix(path+"/", g.Prefix+"/") && !strings.HasPrefix(g.Prefix+"/", path):
		k.addf(at+".prefix", "use the prefix of the route's paths, or remove it", "no path of the route, %s, begins with %s", quoted(match.Path), quoted(g.Prefix))
	}
}

// Places splits a list at its commas.
func Places(list string) []string {
	var out []string
	for p := range strings.SplitSeq(list, ",") {
		if p = strings.TrimSpace(p); p != "" {
			out = append(out, p)
		}
	}
	return out
}

func placeFlaw(p string) *flaw {
	kind, name, ok := strings.Cut(p, ":")
	switch {
	case !ok || name == "":
	case kind == "query", kind == "form":
		return nil
	case kind == "header":
		return headerFlaw(name)
	case kind == "json" && jsonPath.MatchString(name):
		return nil
	}
	return flawf("write query:NAME, header:NAME, form:NAME or json:$.a.b", "%s is not a place in a request", quoted(p))
}
