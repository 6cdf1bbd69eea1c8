package live

import "time"

// Status is the state known to one node.
type Status struct {
	Node    string    `json:"node"`
	Running Version   `json:"running"` // the running version, without its text; zero: none
	Since   time.Time `json:"since"`   // since when it runs on this node
	Wanted  Version   `json:"wanted"`  // the version that should run, without its text
	Error   string    `json:"error,omitempty"`
	ErrorAt time.Time `json:"error_at,omitzero"`

	Overrides []Override  `json:"overrides"` // overrides in force on this node
	Revision  int64       `json:"revision"`  // last followed revision of the store
	Store     StoreStatus `json:"store"`
	File      FileStatus  `json:"file"`
	Nodes     []Node      `json:"nodes"` // nodes as of the last report
}

// StoreStatus is the state of the connection to the store.
type StoreStatus struct {
	Error string    `json:"error,omitempty"` // reason of the failure; empty: the store answers
	Since time.Time `json:"since,omitzero"`  // since when the store does not answer
}

// FileStatus is the state of the settings file.
type FileStatus struct {
	Path     string `json:"path,omitempty"`
	Notified bool   `json:"notified"` // true if changes are noticed at once, false if only by polling
	Sum      string `json:"sum,omitempty"`
	Version  int64  `json:"version"` // newest version with this content; 0: none
	Runs     bool   `json:"runs"`    // whether its content, with the files that it names, runs
	// Error is the reason why the file, or one that it names, cannot be used since ErrorAt.
	// The previous settings keep running.
	Error   string    `json:"error,omitempty"`
	ErrorAt time.Time `json:"error_at,omitzero"`
	// Files is the list of files that it, or the running version, names.
	Files []NamedFile `json:"files,omitempty"`
}

// NamedFile is the state of a file that settings name and that is part of their versions.
type NamedFile struct {
	Path string `json:"path"`
	Sum  string `json:"sum,omitempty"` // sum of the last read content; empty: never read
	Runs bool   `json:"runs"`          // whether this content runs
	// Error is the reason why the file cannot be read since ErrorAt. Its previous content
	// keeps running.
	Error   string    `json:"error,omitempty"`
	ErrorAt time.Time `json:"error_at,omitzero"`
}

// Result is the result of a [Live.Reload].
type Result struct {
	Version Version // the running version, without its text
	Changed bool    // whether the file's content has changed since the last look
}

// Kinds of an [Event].
const (
	Applied    = "applied"    // a version or overrides were applied
	Refused    = "refused"    // a text is invalid; the previous settings keep running
	Failed     = "failed"     // Apply failed; the previous settings keep running
	FileLost   = "file-lost"  // the file is missing or unreadable; the previous settings keep running
	FileBack   = "file-back"  // the file can be read again
	FileOlder  = "file-older" // the file's content is known, and a newer version runs
	StoreLost  = "store-lost" // the store does not answer; the previous settings keep running
	StoreBack  = "store-back" // the store answers again
	Unnotified = "unnotified" // changes of the file are noticed only by polling
)

// Event is a change of the state.
type Event struct {
	Kind      string
	Version   int64 // the affected version; 0: none, or one that is not yet in the store
	Sum       string
	Overrides int // for Applied: number of overrides in force
	Err       error
}
