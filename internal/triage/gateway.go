package triage

import (
	"context"
	"errors"
	"strings"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/queue"
)

// Kept is where requests are that the gateway set aside.
type Kept interface {
	// List returns up to limit letters without bodies, beyond the first offset.
	List(ctx context.Context, offset, limit int) ([]bezoar.Letter, error)
	// Get, Redrive and Discard are those of a [Source].
	Get(ctx context.Context, id string) (bezoar.Letter, error)
	Redrive(ctx context.Context, id string) (queue.Outcome, error)
	Discard(ctx context.Context, id string) error
}

// GatewayPrefix begins the names of the queues that requests of a fleet are
// shown in.
const GatewayPrefix = "gateway:"

// maxKept bounds the requests that are looked at, the bound of their store.
const maxKept = 10_000

// Gateway shows the requests of one fleet as letters. It looks at all of them
// for every list, as there are few.
type Gateway struct {
	Listing
	fleet string
	kept  Kept
}

// NewGateway shows the requests of a fleet that kept holds.
func NewGateway(fleet string, kept Kept) *Gateway {
	g := &Gateway{fleet: fleet, kept: kept}
	g.Listing = g.all
	return g
}

func (g *Gateway) Name() string { return GatewayPrefix + g.fleet }

func (g *Gateway) Letter(ctx context.Context, id string) (queue.Death, error) {
	if !strings.HasPrefix(id, "dl-") {
		return queue.Death{}, queue.ErrLetterNotFound
	}
	l, err := g.kept.Get(ctx, id)
	if err != nil {
		return queue.Death{}, err
	}
	if l.Fleet != g.fleet {
		return queue.Death{}, queue.ErrLetterNotFound
	}
	return g.death(l), nil
}

// Redrive runs one again.
func (g *Gateway) Redrive(ctx context.Context, id string) (queue.Outcome, error) {
	return g.kept.Redrive(ctx, id)
}

// Discard removes one for good.
func (g *Gateway) Discard(ctx context.Context, id string) error { return g.kept.Discard(ctx, id) }

// death is a request as a dead letter. It died when its first copy was set
// aside: copies that follow do not make it another one.
func (g *Gateway) death(l bezoar.Letter) queue.Death {
	o := queue.Outcome{Class: l.Class, Reason: bound(l.Request.Method+" "+l.Request.Target, 200) + ": " + l.Reason}
	m := queue.Message{
		ID: l.ID, Body: l.Request.Body, Sender: l.Request.Client, Sequence: SequenceOf(l.First, l.ID), Sent: l.First, Payload: l.Fingerprint,
		Attributes: attributes(l.Request),
		Letter: &queue.Letter{
			Origin: g.Name(), Died: l.First, Receives: int(min(l.Copies, 1<<31-1)), Payload: l.Fingerprint, Outcome: o,
			Group: queue.GroupKey(o, l.Fingerprint), Attempts: attempts(l.Evidence),
		},
	}
	return queue.Death{Queue: g.Name(), Message: m}
}

func attributes(r bezoar.Request) map[string]queue.Attribute {
	out := make(map[string]queue.Attribute, len(r.Header)+3)
	set := func(name, value string) { out[name] = queue.Attribute{DataType: "String", String: value} }
	set("Method", r.Method)
	set("Target", r.Target)
	set("Host", r.Host)
	for name, values := range r.Header {
		set("Header."+name, strings.Join(values, ", "))
	}
	if r.Truncated {
		set("Truncated", "true")
	}
	return out
}

func attempts(evidence []bezoar.Evidence) []queue.Attempt {
	var out []queue.Attempt
	for _, e := range evidence {
		reason := e.Detail
		if len(e.Stderr) > 0 {
			reason += "\n" + strings.Join(e.Stderr, "\n")
		}
		out = append(out, queue.Attempt{Received: e.At, Ended: e.At, Worker: e.Worker, Outcome: queue.Outcome{Class: e.Class, Reason: reason}})
	}
	return out
}

// all returns what a selection picks, the newest death first.
func (g *Gateway) all(ctx context.Context, s queue.Selection) ([]queue.Death, error) {
	const page = 1000
	var out []queue.Death
	seen := map[string]bool{} // the list moves while it is read
	for offset := 0; offset < maxKept; offset += page {
		letters, err := g.kept.List(ctx, offset, page)
		if err != nil {
			return nil, err
		}
		for _, l := range letters {
			if l.Fleet != g.fleet || seen[l.ID] {
				continue
			}
			seen[l.ID] = true
			m := g.death(l)
			if !Picks(s, m) {
				continue
			}
			holds, err := g.holds(ctx, s, m)
			if err != nil {
				return nil, err
			}
			if holds {
				out = append(out, m)
			}
		}
		if len(letters) < page {
			break
		}
	}
	Newest(out)
	return out, nil
}

// holds says whether what is within m is as s asks. Lists have no bodies: these are
// read one by one.
func (g *Gateway) holds(ctx context.Context, s queue.Selection, m queue.Death) (bool, error) {
	if !s.ByContent() {
		return true, nil
	}
	body := s.Body
	s.Body = ""
	if holds := s.Holds(nil, m.Letter.Reason, m.Attributes); !holds || body == "" {
		return holds, nil
	}
	whole, err := g.kept.Get(ctx, m.ID)
	if errors.Is(err, queue.ErrLetterNotFound) {
		return false, nil
	}
	return strings.Contains(string(whole.Request.Body), body), err
}
