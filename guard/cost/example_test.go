package cost_test

import (
	"fmt"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// Settings and reports name predictors by text.
func ExampleParsePredictor() {
	name := cost.AggProduct.String()
	p, err := cost.ParsePredictor(name)
	fmt.Println(name, p == cost.AggProduct, err)
	_, err = cost.ParsePredictor("agg_products")
	fmt.Println(err)
	// Output:
	// agg_product true <nil>
	// unknown predictor "agg_products"
}
