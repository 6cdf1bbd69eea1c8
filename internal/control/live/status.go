package live

import "time"

// Status is what one node knows.
type Status struct {
	Node    string    `json:"node"`
	Running Version   `json:"running"` // without text; zero: nothing yet
	Since   time.Time `json:"since"`   // it runs here since then
	Wanted  Version   `json:"wanted"`  // without text: what should run
	Error   string    `json:"error,omitempty"`
	ErrorAt time.Time `json:"error_at,omitzero"`

	Overrides []Override  `json:"overrides"` // in force here
	Revision  int64       `json:"revision"`  // of the store, as far as it was followed
	Store     StoreStatus `json:"store"`
	File      FileStatus  `json:"file"`
	Nodes     []Node      `json:"nodes"` // as of the last beat
}

// StoreStatus is how it goes with the store.
type StoreStatus struct {
	Error string    `json:"error,omitempty"` // "": it answers
	Since time.Time `json:"since,omitzero"`  // it does not answer since then
}

// FileStatus is how it goes with the file.
type FileStatus struct {
	Path     string `json:"path,omitempty"`
	Notified bool   `json:"notified"` // changes are noticed at once, not by the slow poll alone
	Sum      string `json:"sum,omitempty"`
	Version  int64  `json:"version"` // the newest that its content was recorded as; 0: none yet
	Runs     bool   `json:"runs"`    // its content is what runs, with those of the files that it names
	// Error says why it cannot be used as it is, or one that it names, since
	// ErrorAt; what ran before, runs.
	Error   string    `json:"error,omitempty"`
	ErrorAt time.Time `json:"error_at,omitzero"`
	// Files are those that it, or what runs, names.
	Files []NamedFile `json:"files,omitempty"`
}

// NamedFile is how it goes with a file that settings name and that is part of
// their versions.
type NamedFile struct {
	Path string `json:"path"`
	Sum  string `json:"sum,omitempty"` // as it was read last; "": never
	Runs bool   `json:"runs"`          // that is what runs
	// Error says why it cannot be read, since ErrorAt. What runs of it, stays.
	Error   string    `json:"error,omitempty"`
	ErrorAt time.Time `json:"error_at,omitzero"`
}

// Result is what a [Live.Reload] found.
type Result struct {
	Version Version // what runs now, without text
	Changed bool    // the file has other content than when it was last looked at
}

// Kinds of an [Event].
const (
	Applied    = "applied"    // a version, or overrides, run
	Refused    = "refused"    // a text is invalid; what ran, runs
	Failed     = "failed"     // Apply failed; what ran, runs
	FileLost   = "file-lost"  // the file is not there or cannot be read; what ran, runs
	FileBack   = "file-back"  // it can be read again
	FileOlder  = "file-older" // the file's content is known, and a newer version runs
	StoreLost  = "store-lost" // the store does not answer; what ran, runs
	StoreBack  = "store-back" // it answers again
	Unnotified = "unnotified" // changes of the file are found by the slow poll alone
)

// Event is something that happened.
type Event struct {
	Kind      string
	Version   int64 // that it is about; 0: none, or one that the store has not got yet
	Sum       string
	Overrides int // of Applied: in force
	Err       error
}
