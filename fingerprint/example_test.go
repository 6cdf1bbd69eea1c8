package fingerprint_test

import (
	"fmt"
	"net/http"

	"github.com/bezoar-dev/bezoar/fingerprint"
)

// Two spellings of one request are one work.
func ExamplePrinter_Work() {
	p, err := fingerprint.New(fingerprint.Key{ /* the deployment's secret */ }, fingerprint.Config{
		Headers: []string{"X-Tenant"},
		Ignore:  []string{"query:ts", "json:$.sent"},
	})
	if err != nil {
		panic(err)
	}
	one := &fingerprint.Input{
		Method: "POST", Path: "/reports/%6Donthly", RawQuery: "year=2026&ts=171&lang=de", ContentType: "application/json",
		Header: http.Header{"X-Tenant": {"acme"}, "X-Request-Id": {"1"}},
		Body:   []byte(`{"rows": 10, "sent": 171, "filter": "caf\u00e9"}`), Complete: true,
	}
	other := &fingerprint.Input{
		Method: "POST", Path: "/reports/monthly", RawQuery: "lang=de&year=2026", ContentType: "application/json; charset=utf-8",
		Header: http.Header{"X-Tenant": {"acme"}, "X-Request-Id": {"2"}},
		Body:   []byte(`{"filter":"café","rows":10}`), Complete: true,
	}
	a, _ := p.Work(one)
	b, _ := p.Work(other)
	fmt.Println(a == b)

	other.Header = http.Header{"X-Tenant": {"umbrella"}}
	c, _ := p.Work(other)
	fmt.Println(a == c)
	// Output:
	// true
	// false
}

// Unique pills of one kind share a shape, which good work does not have.
func ExamplePrinter_Skeleton() {
	p, err := fingerprint.New(fingerprint.Key{}, fingerprint.Config{})
	if err != nil {
		panic(err)
	}
	for _, query := range []string{"filter=(a%2B)%2B$x93&page=1", "page=2&filter=(a%2B)%2B$x17", "filter=lovelace&page=1"} {
		fmt.Println(p.Skeleton(&fingerprint.Input{Method: "GET", Path: "/users/4711/search", RawQuery: query, Complete: true}))
	}
	// Output:
	// GET /users/<int>/search?filter=meta4&page=int1
	// GET /users/<int>/search?filter=meta4&page=int1
	// GET /users/<int>/search?filter=word4&page=int1
}

// A body too long to hold is known by its head until it has passed.
func ExamplePrinter_Stream() {
	p, err := fingerprint.New(fingerprint.Key{}, fingerprint.Config{MaxBody: 4})
	if err != nil {
		panic(err)
	}
	in := &fingerprint.Input{Method: "PUT", Path: "/video", Body: []byte("head"), Length: 9}
	work, _ := p.Work(in)

	sum := func(chunks ...string) string {
		s := p.Stream(work)
		defer s.Close()
		for _, c := range chunks {
			s.Write([]byte(c))
		}
		return s.Sum().String()
	}
	fmt.Println(sum("head", "+tail") == sum("head+", "tail"))
	fmt.Println(sum("head", "+tail") == sum("head", "+TAIL"))
	// Output:
	// true
	// false
}

// Every fault of a configuration is named at once.
func ExampleConfig_Validate() {
	c := fingerprint.Config{Headers: []string{"X Tenant"}, Ignore: []string{"json:ts", "cookie:sid"}}
	fmt.Println(c.Validate())
	// Output:
	// Headers[0]: "X Tenant" is not a header name
	// Ignore[0]: "json:ts": a path begins with $
	// Ignore[1]: "cookie:sid": kind "cookie" is unknown, want header, query, form or json
}

// What kills is told from what does not by what the one has and the other lacks.
func ExampleTraits() {
	p, err := fingerprint.New(fingerprint.Key{}, fingerprint.Config{Volatile: []string{"X-Nonce"}})
	if err != nil {
		panic(err)
	}
	killer := &fingerprint.Traits{Printer: p, Input: &fingerprint.Input{
		Method: "GET", Path: "/home", Complete: true,
		Fields: fieldList{"Host", "shop.example", "X-Theme", "neon", "X-Nonce", "1"},
	}}
	other := &fingerprint.Traits{Printer: p, Input: &fingerprint.Input{
		Method: "GET", Path: "/home", Complete: true,
		Fields: fieldList{"Host", "shop.example", "X-Theme", "dark", "X-Nonce", "2"},
	}}
	fmt.Println(killer.Variant() == other.Variant())
	good := other.Features(nil)
	for _, f := range killer.Features(nil) {
		if fingerprint.Lacks(good, f) {
			fmt.Println(killer.Text(f))
		}
	}
	// Output:
	// false
	// header X-Theme: neon
}
