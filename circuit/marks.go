package circuit

import "github.com/bezoar-dev/bezoar/internal/state/marks"

// prefix begins the keys of all marks.
const prefix = "circuit/"

// Marks keeps small documents that all nodes share, and [Mark] is one of them.
type (
	Marks = marks.Store
	Mark  = marks.Mark
)

// ErrConflict is the error of PutMark of Marks when the mark has another version.
var ErrConflict = marks.ErrConflict
