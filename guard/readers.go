package guard

import (
	"github.com/bezoar-dev/bezoar/guard/cost"
	"github.com/bezoar-dev/bezoar/guard/elastic"
	"github.com/bezoar-dev/bezoar/guard/graphql"
)

// readerOf makes the reader for a kind.
func readerOf(k Kind) cost.Reader {
	switch k {
	case Elasticsearch, OpenSearch:
		return &elastic.Reader{}
	case Regex:
		return &expressionReader{}
	case GraphQL:
		return &graphql.Reader{}
	case SQL:
	}
	return notRead(k)
}

// notRead refuses what no reader knows.
type notRead Kind

func (k notRead) Read(dst []cost.Measure, _ cost.Query, _ cost.Options) ([]cost.Measure, error) {
	return dst, &cost.Unreadable{Reason: "queries of the kind " + string(k) + " are not read", Offset: -1}
}
