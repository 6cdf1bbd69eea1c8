package stale_test

import (
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/internal/gateway/stale"
)

func Example() {
	c := stale.New(stale.Config{})
	now := time.Now()
	k := [16]byte{1} // a keyed hash of what was asked for

	r := c.Record(k, stale.Answer{Status: 200, Header: []stale.Field{{Name: "Content-Type", Value: "text/plain"}}}, now)
	fmt.Fprint(&r, "hello ")
	fmt.Fprint(&r, "world")
	fmt.Println(r.Commit(now))

	// A minute later nobody answers.
	a, age, ok := c.Get(k, now.Add(time.Minute), 5*time.Minute)
	fmt.Println(a.Status, string(a.Body), age, ok)

	fmt.Println(c.Put(k, stale.Answer{Status: 200, Header: []stale.Field{{Name: "Cache-Control", Value: "private"}}}, now))
	// Output:
	// kept
	// 200 hello world 1m0s true
	// private
}
