package guard

import (
	"math"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// Profile names a set of rules that hold where nobody has said otherwise. They
// come from the limits of the backends themselves, and where those have none
// from incidents. An ordinary dashboard stays far below those of the default.
type Profile string

const (
	ProfileLenient Profile = "lenient" // refuses what takes a backend down, reports the rest
	ProfileDefault Profile = "default" // lets pass what ordinary tools send; "" is the same
	ProfileStrict  Profile = "strict"  // also refuses what is slow on large tables
)

// Profiles lists them.
func Profiles() []Profile { return []Profile{ProfileLenient, ProfileDefault, ProfileStrict} }

// Rules are the rules of a profile.
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
	var rules []Rule
	for _, d := range list {
		rules = append(rules, Rule{Predictor: d.predictor, Limit: d.limit, Action: d.action, Kind: d.kind, Where: where})
	}
	return rules
}

// byDefault is where default rules are written.
const byDefault = "default"

// strict is what the strict profile refuses beside the default one.
func strict() []defaultRule {
	return []defaultRule{
		{cost.LeadingWildcard, 0, Reject, SQL},
		{cost.MissingWhere, 0, Reject, ""},
		{cost.JoinCount, 20, Reject, ""},
		{cost.InList, 1000, Reject, ""},
		{cost.SubqueryDepth, 5, Reject, ""},
	}
}

// lenient makes reports of flags, and multiplies amounts by ten. What no
// backend survives, and what the guard cannot read, stays refused.
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
	kind      Kind // "" is all
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
		{cost.GeoCells, 3_000_000, Reject, ""},       // some 16 bytes each: a town at the zoom of its houses passes, the earth in map tiles of zoom 11 does not
		{cost.AggDepth, 20, Reject, ""},              // older nodes die of deep ones; people nest five
		{cost.QueryDepth, 30, Reject, ""},            // indices.query.bool.max_nested_depth
		{cost.ClauseCount, 1024, Reject, ""},         // indices.query.bool.max_clause_count
		{cost.TermsCount, 65_536, Reject, ""},        // index.max_terms_count
		{cost.IDsCount, 10_000, Reject, ""},          // each is a lookup in every segment
		{cost.LeadingWildcard, 0, Reject, ""},        // reads every term, or row
		{cost.PatternLength, 1000, Reject, ""},       //
		{cost.RegexLength, 1000, Reject, ""},         // index.max_regex_length
		{cost.RegexStates, 10_000, Reject, ""},       // Lucene's own default for determinized states
		{cost.WildcardStars, 8, Reject, ""},          // thousands overflow the stack
		{cost.FieldFanout, 100, Reject, ""},          // an automaton for each field
		{cost.Script, 10, Reject, ""},                // ten short ones, or one with many loops or branches
		{cost.ScriptScore, 0, Report, ""},            // runs for every document
		{cost.Joining, 2, Reject, ""},                //
		{cost.ExpensiveClass, 0, Report, ""},         // search.allow_expensive_queries would refuse them
		{cost.ScrollTTL, 86_400, Reject, ""},         // search.max_keep_alive
		{cost.Fetch, 100, Reject, ""},                // index.max_docvalue_fields_search
		{cost.Shards, 1000, Reject, ""},              //
		{cost.Unfiltered, 10_000_000, Report, ""},    // documents, where hints know them
		{cost.UnfilteredWrite, 0, Reject, ""},        //
		{cost.Batch, 100, Reject, ""},                //
		{cost.SuggestSize, 10_000, Reject, ""},       //
		{cost.VectorCandidates, 10_000, Reject, ""},  // the backend's own
		{cost.AggSize, 10_000, Reject, ""},           // backends have no limit on the size of a terms aggregation
		{cost.UnreadEndpoint, 0, Report, ""},         // datafeeds, watches, pipelines and analyses that are tried
		{cost.DeniedEndpoint, 0, Reject, ""},         // its cost cannot be read
		{cost.StoredTemplate, 0, Off, ""},            // its text is the operators' own
		{cost.Timeout, math.Inf(1), Off, ""},         // for caps that a class asks for
		{cost.TerminateAfter, math.Inf(1), Off, ""},
		{cost.TotalHits, math.Inf(1), Off, ""},
	}
}

func sqlDefaults() []defaultRule {
	return []defaultRule{
		{cost.LeadingWildcard, 0, Report, SQL},         // search boxes of admin pages
		{cost.LeadingWildcard, 1_000_000, Reject, SQL}, // rows that hints know, without LIMIT
		{cost.MissingWhere, 0, Report, ""},             // DELETE of every row, as caches are emptied
		{cost.MissingWhere, 1, Reject, ""},             // UPDATE of every row, and a WHERE that is always true
		{cost.LikeWildcards, 4, Reject, ""},
		{cost.CrossJoin, 1, Reject, ""},
		{cost.JoinCount, 8, Report, ""},  // PostgreSQL stops trying every order there (join_collapse_limit)
		{cost.JoinCount, 60, Reject, ""}, // shops' catalogues join 25; MySQL ends at 61
		{cost.InList, 1000, Report, ""},  // preloads of object mappers send a few thousand
		{cost.InList, 10_000, Reject, ""},
		{cost.OffsetRows, 10_000, Reject, ""},
		{cost.MissingLimit, 10_000, Off, ""}, // a cap changes answers: only where somebody asks for it
		{cost.NonSargable, 0, Report, ""},
		{cost.Regex, 0, Report, ""},
		{cost.Sort, 0, Report, ""},
		{cost.GroupCardinality, 1_000_000, Reject, ""},
		{cost.SubqueryDepth, 5, Report, ""},
		{cost.SubqueryDepth, 12, Reject, ""}, // BI tools nest 7
		{cost.Recursive, 0, Report, ""},
		{cost.DeniedFunction, 0, Reject, ""},
		{cost.MultiStatement, 1, Report, ""}, // each statement is judged by itself
		{cost.FullScan, 1_000_000, Reject, ""},
		{cost.Generated, 10_000_000, Reject, ""}, // loads of test data make a million; ten make a connection hang
		{cost.Drop, 0, Report, ""},               // costs nothing and is meant: a class whose callers never mean it refuses it
	}
}

func otherDefaults() []defaultRule {
	return []defaultRule{
		// What graphql-armor refuses is reported: clients that people use go beyond
		// it. One list of a hundred with its nodes costs 5000, Relay's connections
		// are two levels each, and documents made from fragments have a thousand
		// tokens. Half a million nodes is GitHub's own limit; two hundred units for
		// each are the cost: at the depth of GitHub's own client a leaf is a hundred.
		// That client nests 14 fields, and GitLab refuses more than 15.
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
		{cost.GQLIntrospection, 2, Reject, ""}, // servers in JavaScript refuse three
		{cost.GQLList, 1000, Report, ""},
		{cost.GQLList, 10_000, Reject, ""},
		{cost.GQLRootFields, 20, Report, ""},
		{cost.GQLRootFields, 200, Reject, ""}, // a batch of a hundred has them

		{cost.RegexExponential, 0, Reject, ""},
		{cost.RegexPolynomial, 1, Reject, ""},
		{cost.RegexPolynomial, 1, Report, SQL}, // values are short there, and MySQL and MariaDB give up on an expression that takes long
		{cost.RegexSearch, 1, Report, ""},      // every search for a word is; harmful only on long texts
		{cost.RegexUnknown, 0, Report, ""},

		// What the guard cannot read and the backend can would be a way around
		// it. SQL has more dialects than any reader, so there it is reported.
		{cost.Unparsable, 0, Reject, ""},
		{cost.Unparsable, 0, Report, SQL},
		{cost.Unparsable, 0, Report, Regex},
		{cost.Encoding, 0, Reject, ""},
		{cost.BodyBytes, 16 << 20, Reject, ""},
		{cost.BodyDepth, 200, Reject, ""},
	}
}
