package guard

import "time"

// String returns file or backend.
func (s Source) String() string {
	return [...]string{"file", "backend", "unknown"}[min(uint(s), 2)]
}

// HintSource describes a source that has hints.
type HintSource struct {
	Source  string    `json:"source"` // file or backend
	At      time.Time `json:"at"`     // when the hints were valid
	Indices int       `json:"indices"`
	Fields  int       `json:"fields"`
}

// Sources returns the sources that have hints.
func (s *HintStore) Sources() []HintSource {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []HintSource
	for i, set := range s.sets {
		if set == nil {
			continue
		}
		h := HintSource{Source: Source(i).String(), At: s.at[i], Indices: len(set)}
		for _, index := range set {
			h.Fields += len(index.Fields)
		}
		out = append(out, h)
	}
	return out
}
