package crash_test

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bezoar-dev/bezoar/crash"
)

func Example() {
	output := `2024-05-11 08:14:02 INFO  order 7 of customer 812
Traceback (most recent call last):
  File "/srv/shop/orders.py", line 31, in price
    return table[currency]
KeyError: 'EUR'
`
	r, err := crash.Parse(strings.NewReader(output))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Class, r.Type, "in", r.Frame)
	fmt.Println("quality", r.Quality, "counts after", crash.Votes(r.Quality))
	// Output:
	// bug KeyError in price (/srv/shop/orders.py:31)
	// quality A counts after 2
}

func ExampleOfRun() {
	r := crash.OfRun(nil, crash.Ending{Code: 139, Command: "./resize"})
	fmt.Println(r.Class, r.Type, r.Quality)
	// Output: crash SIGSEGV D
}

func ExampleFromError() {
	a := crash.FromError(errors.New("no route for order 7"))
	b := crash.FromError(errors.New("no route for order 12"))
	fmt.Println(a.Group == b.Group, a.Reason)
	// Output: true no route for order <int>
}

func ExampleConfig() {
	p, err := crash.New(crash.Config{Library: []string{"internal/framework"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := p.ParseBytes([]byte(`Traceback (most recent call last):
  File "/srv/shop/orders.py", line 31, in price
    return fetch(table)
  File "/srv/shop/internal/framework/db.py", line 9, in fetch
    raise LookupError(table)
LookupError: prices
`))
	fmt.Println(r.Frame, err)
	// Output: price (/srv/shop/orders.py:31) <nil>
}
