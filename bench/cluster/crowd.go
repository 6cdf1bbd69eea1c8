package main

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// tally is what one caller saw at one node.
type tally struct{ sent, served, limited, other atomic.Int64 }

func (t *tally) note(status int) {
	t.sent.Add(1)
	switch status {
	case http.StatusOK:
		t.served.Add(1)
	case http.StatusTooManyRequests:
		t.limited.Add(1)
	default:
		t.other.Add(1)
	}
}

// crowd sends to every node at once, as callers do who know nothing of nodes.
type crowd struct {
	nodes   []*node
	callers map[string][]*tally // by name, one for each node
	wg      sync.WaitGroup
}

func newCrowd(nodes []*node) *crowd { return &crowd{nodes: nodes, callers: map[string][]*tally{}} }

// send begins to send so many requests a second to each node, at fixed times
// whatever the answers, until ctx ends.
func (c *crowd) send(ctx context.Context, caller string, perSecond float64) {
	for _, n := range c.nodes {
		t := &tally{}
		c.callers[caller] = append(c.callers[caller], t)
		c.wg.Go(func() {
			beat := time.NewTicker(time.Duration(float64(time.Second) / perSecond))
			defer beat.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-beat.C:
				}
				c.wg.Go(func() { t.note(n.send(context.WithoutCancel(ctx), caller, http.MethodGet, "/item", "")) })
			}
		})
	}
}

// count is what one caller saw from one moment to another.
type count struct {
	Sent    int64   `json:"sent"`
	Served  int64   `json:"served"`
	Limited int64   `json:"limited"`
	Other   int64   `json:"other"`
	ByNode  []int64 `json:"served_by_node"`
}

// now sums up all that a caller has seen so far.
func (c *crowd) now(caller string) (sum count) {
	for _, t := range c.callers[caller] {
		served := t.served.Load()
		sum.ByNode = append(sum.ByNode, served)
		sum.Served += served
		sum.Limited += t.limited.Load()
		sum.Other += t.other.Load()
		sum.Sent += t.sent.Load()
	}
	return sum
}

func (a count) less(b count) count {
	out := count{Sent: a.Sent - b.Sent, Served: a.Served - b.Served, Limited: a.Limited - b.Limited, Other: a.Other - b.Other}
	for i := range a.ByNode {
		out.ByNode = append(out.ByNode, a.ByNode[i]-b.ByNode[i])
	}
	return out
}
