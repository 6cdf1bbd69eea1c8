package bezoar_test

import (
	"fmt"

	"github.com/bezoar-dev/bezoar"
)

// A letter keeps the request that killed workers, without its secrets. Missing names
// what a person has to add before the request can be sent again.
func ExampleRequest_Missing() {
	r := bezoar.Request{
		Method: "POST",
		Target: "/orders?key=" + bezoar.Redacted,
		Header: map[string][]string{
			"Authorization": {bezoar.Redacted},
			"Content-Type":  {"application/json"},
		},
		Body: []byte("17"),
	}
	fmt.Println(r.Missing())
	// Output: [Authorization target]
}
