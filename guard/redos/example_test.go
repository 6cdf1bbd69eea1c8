package redos_test

import (
	"fmt"

	"github.com/bezoar-dev/bezoar/guard/redos"
)

func ExampleAnalyze() {
	for _, pattern := range []string{
		`^(\w+\s?)+$`,
		`^\w*_\w*$`,
		`,+$`,
		`^\w+(?:,\w+)*$`,
	} {
		r := redos.Analyze(pattern, redos.Options{Dialect: redos.Python})
		fmt.Printf("%-16s %v", pattern, r.Class)
		if r.SearchOnly {
			fmt.Print(", when searching")
		}
		if r.Class != redos.Safe {
			fmt.Printf(": %q", r.Witness.Text(3))
		}
		fmt.Println()
	}
	// Output:
	// ^(\w+\s?)+$      exponential: "aaaa!"
	// ^\w*_\w*$        polynomial: "a_a_a_a!"
	// ,+$              polynomial, when searching: ",,,a"
	// ^\w+(?:,\w+)*$   safe
}
