package guard

import (
	"math"

	"github.com/bezoar-dev/bezoar/guard/cost"
	"github.com/bezoar-dev/bezoar/internal/each"
)

// Profile names a set of rules that apply where the limits have no rule. Their limits come
// from the limits of the backends, or from incidents if a backend has no limit. Ordinary
// dashboards stay far below those of the default profile.
type Profile string

const (
	ProfileLenient Profile = "lenient" // rejects queries that take a backend down, reports others
	ProfileDefault Profile = "default" // accepts the queries of ordinary tools; same as ""
	ProfileStrict  Profile = "strict"  // also rejects queries that are slow on large tables
)

// Profiles returns all profiles.
func Profiles() []Profile { return []Profile{ProfileLenient, ProfileDefault, ProfileStrict} }

// Rules returns the rules of a profile.
func (p Profile) Rules() []Rule {
	list, where := defaults(), string(p)
	switch p {
	case ProfileStrict:
		list = append(list, strict()...)
	case ProfileLenient:
		lenient(list)
	default:
		where = byDefault
	}
	return each.Of(list, func(d defaultRule) Rule {
		return Rule{Predictor: d.predictor, Limit: d.limit, Action: d.action, Kind: d.kind, Where: where}
	})
}

// byDefault is the place of default rules.
const byDefault = "default"

// strict returns the additional rules of the strict profile.
func strict() []defaultRule {
	return []defaultRule{
		{cost.LeadingWildcard, 0, Reject, SQL},
		{cost.MissingWhere, 0, Reject, ""},
		{cost.JoinCount, 20, Reject, ""},
		{cost.InList, 1000, Reject, ""},
		{cost.SubqueryDepth, 5, Reject, ""},
	}
}

// lenient changes flags to report, and multiplies amounts by ten. It keeps rejecting
// queries that no backend survives or that the guard cannot read.
func lenient(list []defaultRule) {
	for i := range list {
		d := &list[i]
		switch d.predictor {
		case cost.DeniedFunction, cost.DeniedEndpoint, cost.UnfilteredWrite, cost.RegexExponential, cost.RegexPolynomial, cost.Encoding, cost.Unparsable, cost.BodyBytes, cost.BodyDepth,
			cost.QueryDepth, cost.AggDepth, cost.WildcardStars, cost.RegexStates, cost.CrossJoin, cost.GQLDepth, cost.GQLIntrospection, cost.Generated:
			continue
		}
		if d.action == Reject && d.limit <= 1 {
			d.action = Report
		} else if d.action == Reject {
			d.limit *= 10
		}
	}
}

type defaultRule struct {
	predictor cost.Predictor
	limit     float64
	action    Action
	kind      Kind // empty: all kinds
}

func defaults() []defaultRule {
	list := elasticDefaults()
	list = append(list, sqlDefaults()...)
	return append(list, otherDefaults()...)
}

func elasticDefaults() []defaultRule {
	return []defaultRule{
		{cost.ResultWindow, 10_000, Reject, ""},      // index.max_result_window
		{cost.InnerWindow, 100, Reject, ""},          // index.max_inner_result_window
		{cost.RescoreWindow, 10_000, Reject, ""},     // index.max_rescore_window
		{cost.AggProduct, 65_536, Reject, ""},        // search.max_buckets
		{cost.AggCardinality, 1_000_000, Reject, ""}, // each value is a bucket in memory before the first is dropped
		{cost.HistogramSpan, 65_536, Reject, ""},     // search.max_buckets; empty buckets count
		{cost.GeoCells, 3_000_000, Reject, ""},       // about 16 bytes each; allows a town at house level, rejects the whole earth in map tiles of zoom 11
		{cost.AggDepth, 20, Reject, ""},              // deep aggregations crash older nodes; people nest five
		{cost.QueryDepth, 30, Reject, ""},            // indices.query.bool.max_nested_depth
		{cost.ClauseCount, 1024, Reject, ""},         // indices.query.bool.max_clause_count
		{cost.TermsCount, 65_536, Reject, ""},        // index.max_terms_count
		{cost.IDsCount, 10_000, Reject, ""},          // each ID is a lookup in every segment
		{cost.LeadingWildcard, 0, Reject, ""},        // reads every term, or every row
		{cost.PatternLength, 1000, Reject, ""},       //
		{cost.RegexLength, 1000, Reject, ""},         // index.max_regex_length
		{cost.RegexStates, 10_000, Reject, ""},       // Lucene's own default for determinized states
		{cost.WildcardStars, 8, Reject, ""},          // thousands overflow the stack
		{cost.FieldFanout, 100, Reject, ""},          // one automaton per field
		{cost.Script, 10, Reject, ""},                // ten short scripts, or one with many loops or branches
		{cost.ScriptScore, 0, Report, ""},            // runs for every document
		{cost.Joining, 2, Reject, ""},                //
		{cost.ExpensiveClass, 0, Report, ""},         // search.allow_expensive_queries would refuse them
		{cost.ScrollTTL, 86_400, Reject, ""},         // search.max_keep_alive
		{cost.Fetch, 100, Reject, ""},                // index.max_docvalue_fields_search
		{cost.Shards, 1000, Reject, ""},              //
		{cost.Unfiltered, 10_000_000, Report, ""},    // documents, if hints give the number
		{cost.UnfilteredWrite, 0, Reject, ""},        //
		{cost.Batch, 100, Reject, ""},                //
		{cost.SuggestSize, 10_000, Reject, ""},       //
		{cost.VectorCandidates, 10_000, Reject, ""},  // the backend's own
		{cost.AggSize, 10_000, Reject, ""},           // backends do not limit the size of a terms aggregation
		{cost.UnreadEndpoint, 0, Report, ""},         // datafeeds, watches, pipelines and analyses under test
		{cost.DeniedEndpoint, 0, Reject, ""},         // the guard cannot read its cost
		{cost.StoredTemplate, 0, Off, ""},            // the operators wrote its text
		{cost.Timeout, math.Inf(1), Off, ""},         // for classes that want caps
		{cost.TerminateAfter, math.Inf(1), Off, ""},
		{cost.TotalHits, math.Inf(1), Off, ""},
	}
}

func sqlDefaults() []defaultRule {
	return []defaultRule{
		{cost.LeadingWildcard, 0, Report, SQL},         // search boxes of admin pages
		{cost.LeadingWildcard, 1_000_000, Reject, SQL}, // rows without LIMIT, if hints give the number
		{cost.MissingWhere, 0, Report, ""},             // DELETE of all rows, as when caches are emptied
		{cost.MissingWhere, 1, Reject, ""},             // UPDATE of all rows, or a WHERE that is always true
		{cost.LikeWildcards, 4, Reject, ""},
		{cost.CrossJoin, 1, Reject, ""},
		{cost.JoinCount, 8, Report, ""},  // above this, PostgreSQL does not try every join order (join_collapse_limit)
		{cost.JoinCount, 60, Reject, ""}, // shop catalogues join 25; MySQL allows 61
		{cost.InList, 1000, Report, ""},  // object mappers preload a few thousand
		{cost.InList, 10_000, Reject, ""},
		{cost.OffsetRows, 10_000, Reject, ""},
		{cost.MissingLimit, 10_000, Off, ""}, // a cap changes answers: off unless requested
		{cost.NonSargable, 0, Report, ""},
		{cost.Regex, 0, Report, ""},
		{cost.Sort, 0, Report, ""},
		{cost.GroupCardinality, 1_000_000, Reject, ""},
		{cost.SubqueryDepth, 5, Report, ""},
		{cost.SubqueryDepth, 12, Reject, ""}, // BI tools nest 7
		{cost.Recursive, 0, Report, ""},
		{cost.DeniedFunction, 0, Reject, ""},
		{cost.MultiStatement, 1, Report, ""}, // each statement is judged separately
		{cost.FullScan, 1_000_000, Reject, ""},
		{cost.Generated, 10_000_000, Reject, ""}, // loads of test data generate a million rows; ten million make a connection hang
		{cost.Drop, 0, Report, ""},               // cheap and usually intended; a class that never drops tables can reject it
	}
}

func otherDefaults() []defaultRule {
	return []defaultRule{
		// The limits that graphql-armor rejects are reported here, because widely used
		// clients exceed them. A list of a hundred with its nodes costs 5000, Relay's
		// connections take two levels each, and documents made from fragments have a
		// thousand tokens. Half a million nodes is GitHub's own limit. The cost limit is
		// two hundred units per node: at the depth of GitHub's own client, a leaf costs a
		// hundred. That client nests 14 fields; GitLab rejects more than 15.
		{cost.GQLCost, 5000, Report, ""},
		{cost.GQLCost, 100_000_000, Reject, ""},
		{cost.GQLDepth, 6, Report, ""},
		{cost.GQLDepth, 15, Reject, ""},
		{cost.GQLAliases, 15, Report, ""},
		{cost.GQLAliases, 50, Reject, ""},
		{cost.GQLTokens, 1000, Report, ""},
		{cost.GQLTokens, 2000, Reject, ""},
		{cost.GQLDirectives, 50, Reject, ""},
		{cost.GQLNodes, 500_000, Reject, ""},
		{cost.GQLIntrospection, 2, Reject, ""}, // JavaScript servers reject three
		{cost.GQLList, 1000, Report, ""},
		{cost.GQLList, 10_000, Reject, ""},
		{cost.GQLRootFields, 20, Report, ""},
		{cost.GQLRootFields, 200, Reject, ""}, // a batch of a hundred requests has them

		{cost.RegexExponential, 0, Reject, ""},
		{cost.RegexPolynomial, 1, Reject, ""},
		{cost.RegexPolynomial, 1, Report, SQL}, // values are short there, and MySQL and MariaDB abort slow expressions
		{cost.RegexSearch, 1, Report, ""},      // every search for a word matches this; it is harmful on long texts only
		{cost.RegexUnknown, 0, Report, ""},

		// A query that the backend can read but the guard cannot would bypass the guard.
		// SQL has more dialects than any reader supports, so it is only reported there.
		{cost.Unparsable, 0, Reject, ""},
		{cost.Unparsable, 0, Report, SQL},
		{cost.Unparsable, 0, Report, Regex},
		{cost.Encoding, 0, Reject, ""},
		{cost.BodyBytes, 16 << 20, Reject, ""},
		{cost.BodyDepth, 200, Reject, ""},
	}
}
