package record

import "github.com/bezoar-dev/bezoar/flow"

// Slots assigns slots to the attempts of one batch, in order. The zero value is ready to
// use. The slots in use before are queried once.
type Slots struct {
	pools, keys map[string]*int // slots in use
}

// Take takes a slot for an attempt in its pool and under its key. It reports whether there
// was one.
func (s *Slots) Take(a flow.Attempt, pool, key func() (used int, err error)) (bool, error) {
	if s.pools == nil {
		s.pools, s.keys = make(map[string]*int), make(map[string]*int)
	}
	inPool, err := look(s.pools, a.Pool, pool)
	if err != nil || inPool != nil && *inPool+a.Slots > a.PoolSize {
		return false, err
	}
	ofKey, err := look(s.keys, a.Key, key)
	if err != nil || ofKey != nil && *ofKey >= a.Limit {
		return false, err
	}
	if inPool != nil {
		*inPool += a.Slots
	}
	if ofKey != nil {
		*ofKey++
	}
	return true, nil
}

// look returns the number of slots in use for a name; nil without a name.
func look(all map[string]*int, name string, ask func() (int, error)) (*int, error) {
	if name == "" || all[name] != nil {
		return all[name], nil
	}
	used, err := ask()
	all[name] = &used
	return &used, err
}
