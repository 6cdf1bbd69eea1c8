package hints

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/guard/cost"
	"github.com/bezoar-dev/bezoar/internal/each"
	"github.com/bezoar-dev/bezoar/internal/sorted"
)

// index describes one concrete index.
type index struct {
	name   string
	docs   float64
	shards float64
	mapped float64 // number of all fields
	fields map[string]cost.FieldHint
}

// Limits of one poll.
const (
	maxTotalFields = 200_000
	maxAliases     = 2000
	maxSteps       = 5_000_000 // of merging aliases
	chunk          = 40        // number of indices per mapping request
	maxPath        = 3000      // bytes of the request's path
)

var errRed = errors.New("the backend is red")

// health returns an error while the backend is red. An unknown health counts as good.
func (p *Poller) health(ctx context.Context) error {
	var h struct {
		Status string `json:"status"`
	}
	if err := p.ask(ctx, "/_cluster/health?filter_path=status&timeout=2s", &h); err != nil && !unsupported(err) {
		return err
	}
	if h.Status == "red" {
		return errRed
	}
	return nil
}

// poll polls the backend once.
func (p *Poller) poll(ctx context.Context) error {
	if err := p.health(ctx); err != nil {
		return err
	}
	list, err := p.listed(ctx)
	if err != nil {
		return err
	}
	list = p.choose(list)
	if err := p.mappings(ctx, list); err != nil {
		return err
	}
	aliases, err := p.aliases(ctx, list)
	if err != nil {
		return err
	}
	p.indices, p.aliased = list, aliases
	return nil
}

// listed lists indices with _cat/indices.
func (p *Poller) listed(ctx context.Context) ([]index, error) {
	var rows []struct {
		Index  string `json:"index"`
		Status string `json:"status"`
		Docs   count  `json:"docs.count"`
		Pri    count  `json:"pri"`
	}
	err := p.ask(ctx, "/_cat/indices?format=json&h=index,status,docs.count,pri&expand_wildcards=open,hidden", &rows)
	if err != nil {
		return nil, err
	}
	list := make([]index, 0, len(rows))
	for _, r := range rows {
		if r.Status != "close" {
			list = append(list, index{name: r.Index, docs: float64(r.Docs), shards: float64(r.Pri)})
		}
	}
	return list, nil
}

// choose keeps the largest of the selected indices.
func (p *Poller) choose(list []index) []index {
	list = slices.DeleteFunc(list, func(x index) bool {
		return x.name == "" || len(x.name) > 255 || strings.ContainsAny(x.name, `*,/\ "<>|?`) || hidden(p.cfg.Indices, x.name) || !chosen(p.cfg.Indices, x.name)
	})
	sorted.Func(list, func(a, b index) int {
		return cmp.Or(-cmp.Compare(a.docs, b.docs), cmp.Compare(a.name, b.name))
	})
	p.left = max(0, len(list)-p.cfg.MaxIndices)
	return list[:min(len(list), p.cfg.MaxIndices)]
}

// mappings requests the fields of the indices, some at a time.
func (p *Poller) mappings(ctx context.Context, list []index) error {
	room := maxTotalFields
	for len(list) > 0 {
		n, bytes := 0, 0
		for n < len(list) && n < chunk && (n == 0 || bytes < maxPath) {
			bytes += len(url.PathEscape(list[n].name)) + 1
			n++
		}
		if err := p.mapping(ctx, list[:n], &room); err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}

// mapping requests the fields of a few indices. If the response is too large, it requests
// them in halves.
func (p *Poller) mapping(ctx context.Context, list []index, room *int) error {
	names := each.Of(list, func(i index) string { return url.PathEscape(i.name) })
	var answer map[string]struct {
		Mappings mapping `json:"mappings"`
	}
	target := "/" + strings.Join(names, ",") + "/_mapping?ignore_unavailable=true&filter_path=*.mappings.properties,*.mappings.runtime"
	switch err := p.ask(ctx, target, &answer); {
	case errors.Is(err, errTooLarge) && len(list) > 1:
		if err := p.mapping(ctx, list[:len(list)/2], room); err != nil {
			return err
		}
		return p.mapping(ctx, list[len(list)/2:], room)
	case errors.Is(err, errTooLarge):
		p.cfg.Log.Info("the fields of an index are unknown", "index", list[0].name, "why", err)
		return nil
	case unsupported(err): // deleted, or hidden from this user
		return nil
	case err != nil:
		return err
	}
	for i := range list {
		x := &list[i]
		f := fields{max: min(p.cfg.MaxFields, *room), found: map[string]cost.FieldHint{}}
		f.add("", answer[x.name].Mappings, 0)
		f.point()
		x.fields, x.mapped = f.found, float64(f.all)
		*room -= len(f.found)
	}
	return nil
}

// aliases requests the aliases of the indices.
func (p *Poller) aliases(ctx context.Context, list []index) (map[string][]string, error) {
	of := map[string][]string{}
	here := make(map[string]bool, len(list))
	for i := range list {
		here[list[i].name] = true
	}
	add := func(alias, name string) {
		if here[name] && !here[alias] && len(of[alias]) < len(list) && (of[alias] != nil || len(of) < maxAliases) {
			of[alias] = append(of[alias], name)
		}
	}
	var answer map[string]struct {
		Aliases map[string]struct{} `json:"aliases"`
	}
	if err := p.ask(ctx, "/_alias", &answer); err != nil && !unsupported(err) && !errors.Is(err, errTooLarge) {
		return nil, err
	}
	for name, a := range answer {
		for alias := range a.Aliases {
			add(alias, name)
		}
	}
	var streams struct {
		List []struct {
			Name    string `json:"name"`
			Indices []struct {
				Name string `json:"index_name"`
			} `json:"indices"`
		} `json:"data_streams"`
	}
	if err := p.ask(ctx, "/_data_stream?filter_path=data_streams.name,data_streams.indices.index_name", &streams); err != nil && !unsupported(err) && !errors.Is(err, errTooLarge) {
		return nil, err
	}
	for _, s := range streams.List {
		for _, x := range s.Indices {
			add(s.Name, x.Name)
		}
	}
	return of, nil
}

// publish passes the hints to the store.
func (p *Poller) publish() error {
	set := guard.HintSet{}
	room := maxTotalFields
	for i := range p.indices {
		x := &p.indices[i]
		h := guard.IndexHints{Fields: make(map[string]cost.FieldHint, len(x.fields))}
		h.Docs, h.Shards, h.Indices, h.IndexHint.Fields = x.docs, x.shards, 1, x.mapped
		maps.Copy(h.Fields, x.fields)
		room -= len(x.fields)
		set[x.name] = h
	}
	steps := maxSteps
	for _, alias := range slices.Sorted(maps.Keys(p.aliased)) {
		for _, name := range p.aliased[alias] {
			steps -= len(set[name].Fields) + 1
		}
		if room <= 0 || steps < 0 {
			break
		}
		h := join(set, p.aliased[alias])
		set[alias] = h
		room -= len(h.Fields)
	}
	return p.cfg.Store.Set(guard.Polled, set, p.polled)
}

// join returns the hints of an alias: the sum over its indices.
func join(set guard.HintSet, of []string) guard.IndexHints {
	sum := guard.IndexHints{Fields: map[string]cost.FieldHint{}}
	for _, name := range of {
		h := set[name]
		for field, f := range h.Fields {
			have, ok := sum.Fields[field]
			if ok {
				f = wider(have, f)
			}
			sum.Fields[field] = f
		}
		sum.Of = append(sum.Of, name)
		sum.Docs += h.Docs
		sum.Shards += h.Shards
		sum.Indices++
		sum.IndexHint.Fields = max(sum.IndexHint.Fields, h.IndexHint.Fields)
	}
	return sum
}

// wider merges the hints of a field in two indices.
func wider(a, b cost.FieldHint) cost.FieldHint {
	if a.Type == "" || b.Type != a.Type {
		a.Type = b.Type
	}
	a.Cardinality = max(a.Cardinality, b.Cardinality)
	a.Unique = a.Unique || b.Unique
	if a.HasRange = a.HasRange && b.HasRange; a.HasRange {
		a.Min, a.Max = min(a.Min, b.Min), max(a.Max, b.Max)
	} else {
		a.Min, a.Max = 0, 0
	}
	return a
}
