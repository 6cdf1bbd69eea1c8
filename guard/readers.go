package guard

import (
	"github.com/bezoar-dev/bezoar/guard/cost"
	"github.com/bezoar-dev/bezoar/guard/elastic"
	"github.com/bezoar-dev/bezoar/guard/graphql"
	"github.com/bezoar-dev/bezoar/guard/sql"
)

func readerOf(k Kind) cost.Reader {
	switch k {
	case SQL:
		return &sql.Reader{}
	case GraphQL:
		return &graphql.Reader{}
	case Regex:
		return &expressionReader{}
	case Elasticsearch, OpenSearch:
	}
	return &elastic.Reader{}
}
