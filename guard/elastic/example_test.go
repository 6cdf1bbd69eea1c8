package elastic_test

import (
	"fmt"

	"github.com/bezoar-dev/bezoar/guard/cost"
	"github.com/bezoar-dev/bezoar/guard/elastic"
)

func ExampleReader() {
	var r elastic.Reader
	measures, err := r.Read(nil, cost.Query{
		Path: "/logs/_search",
		Body: []byte(`{"size": 0,
 "query": {"range": {"at": {"gte": "2024-01-01", "lt": "2024-01-08"}}},
 "aggs": {"hosts": {"terms": {"field": "host", "size": 50},
  "aggs": {"load": {"date_histogram": {"field": "at", "fixed_interval": "1h"}}}}}}`),
	}, cost.Options{Explain: true})
	if err != nil {
		panic(err)
	}
	for _, m := range measures {
		if m.Predictor == cost.HistogramSpan || m.Predictor == cost.AggProduct {
			fmt.Printf("%v %.0f at %s\n  %s\n", m.Predictor, m.Value, m.Path, m.Detail)
		}
	}
	// Output:
	// histogram_span 168 at $.aggs.hosts.aggs.load.date_histogram.fixed_interval
	//   span 168h0m0s / interval 1h0m0s = 168 buckets; the span is that of the filter on the field
	// agg_product 8400 at $.aggs.hosts
	//   2 levels: hosts 50 × load 168; 8400 buckets in all
}
