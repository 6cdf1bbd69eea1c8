package sample

import (
	"fmt"
	"hash/fnv"
	"strings"
)

// The catalogue's size. A plain search compares the word with every product,
// which is what makes it cost a few milliseconds of real work; a filter looks
// at the first filtered products only.
const (
	products = 9_000
	filtered = 1_500
)

// screamer is the name that some customer gave a product. No ordinary search
// minds it, but *a*a*a and so on, with 18 stars, has 2^35 ways to find that it
// does not match.
const screamer = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"

// A catalogue is what the shop sells. It is the same in every worker.
type catalogue struct {
	names []string
}

func newCatalogue() *catalogue {
	colours := strings.Fields("amber black blue copper coral green grey ivory jade ochre olive pink red rust sand teal white")
	kinds := strings.Fields("armchair basket bench blanket bookcase candle carpet clock cushion desk lamp mirror mug plate shelf stool table vase")
	c := &catalogue{names: make([]string, 0, products)}
	for i := range products - 1 {
		c.names = append(c.names, fmt.Sprintf("%s %s %04d", colours[i%len(colours)], kinds[(i/7)%len(kinds)], i))
	}
	c.names = append(c.names, "")
	c.names[filtered/2] = screamer
	c.names[products-1] = colours[0] + " " + kinds[0]
	return c
}

// A hit is one product found, and how far its name is from what was asked for.
type hit struct {
	Name string `json:"name"`
	Far  int    `json:"far"`
}

// nearest finds the product whose name is nearest to word by edit distance.
func (c *catalogue) nearest(word string) hit {
	row := make([]int, len(word)+1)
	best := hit{Far: len(word) + 1_000}
	for _, name := range c.names {
		if far := distance(row, word, name); far < best.Far {
			best = hit{name, far}
		}
	}
	return best
}

// count returns how many products p matches.
func (c *catalogue) count(p *pattern) int {
	n := 0
	for _, name := range c.names[:filtered] {
		if p.matches(name) {
			n++
		}
	}
	return n
}

// distance is the edit distance of a and b; row is scratch of len(a)+1.
func distance(row []int, a, b string) int {
	for i := range row {
		row[i] = i
	}
	for j := range len(b) {
		diagonal := row[0]
		row[0] = j + 1
		for i := range len(a) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[i], row[i+1])
			}
			diagonal, row[i+1] = row[i+1], cost
		}
	}
	return row[len(a)]
}

// price is what the shop asks for id, in cents: always the same.
func price(id string) int {
	h := fnv.New32a()
	h.Write([]byte(id))
	return 100 + int(h.Sum32()%50_000)
}
