package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"
)

// A Pill is a kind of request that no worker survives.
type Pill string

const (
	payload Pill = "payload" // one body, POSTed again and again
	get     Pill = "get"     // one query; the good requests are GETs too
	burst   Pill = "burst"   // 64 copies of payload in the same instant
	hang    Pill = "hang"    // as payload, but the worker hangs for 10 s before it ends
	unique  Pill = "unique"  // as payload, no two alike
)

func pills() []Pill { return []Pill{payload, get, burst, hang, unique} }

// dose returns how many copies are sent in the same instant.
func (p Pill) dose() int {
	if p == burst {
		return 64
	}
	return 1
}

// every returns the time between two doses when doses a second are wished for.
// Bursts leave the workers time to come back.
func (p Pill) every(doses float64) time.Duration {
	if p == burst {
		return 3 * time.Second
	}
	return time.Duration(float64(time.Second) / doses)
}

// dies is how the worker ends, as bench/worker names it.
func (p Pill) dies() string {
	if p == hang {
		return "hang"
	}
	return "crash"
}

// A request is one call.
type request struct{ method, target, body string }

// pill returns the n-th.
func (p Pill) request(n int) request {
	switch p {
	case get:
		return request{http.MethodGet, "/search?q=poison", ""}
	case unique:
		return request{http.MethodPost, "/search", fmt.Sprintf(`{"q":"poison","page":%d}`, n)}
	case payload, burst, hang:
	}
	return request{http.MethodPost, "/search", `{"q":"poison","page":1}`}
}

// A mix makes up good requests: one in ten to a popular slow page, half from a
// list of forty, the rest such as nobody has sent before.
type mix struct {
	method string
	random *rand.Rand
	n      int
}

func newMix(p Pill) *mix {
	method := http.MethodPost
	if p == get {
		method = http.MethodGet
	}
	return &mix{method: method, random: rand.New(rand.NewPCG(1, 2))} // the same for every row
}

func (m *mix) next() request {
	m.n++
	target, word := "/search", fmt.Sprintf("new-%d", m.n)
	switch roll := m.random.IntN(10); {
	case roll < 1:
		target, word = "/report", "sales"
	case roll < 6:
		word = fmt.Sprintf("known-%d", m.random.IntN(40))
	}
	if m.method == http.MethodGet {
		return request{m.method, target + "?q=" + word + "&page=1", ""}
	}
	return request{m.method, target, fmt.Sprintf(`{"q":%q,"page":1}`, word)}
}
