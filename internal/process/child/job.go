package child

import (
	"io"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// Job is one run of the command.
type Job struct {
	Name    string        // for logs and for BEZOAR_JOB; may be ""
	Command []string      // replaces Config's; the next three do the same
	Dir     string        // "": Config's
	Grace   time.Duration // 0: Config's
	Memory  int64         // bytes; 0: Config's
	Env     []string      // KEY=value, over Config's
	Stdin   []byte        // written once the limits apply; neither changed nor kept
	Stdout  io.Writer     // also receives all of stdout; nil: only the tail is kept
	Stderr  io.Writer     // likewise for stderr
	// Row is called for each bad row that the job reports in a line of its own on descriptor 3, {"row": 7, "reason": "…",
	// "body": "…"}, as soon as it comes. nil: there are no such lines; only a [Report] names rows.
	Row func(Row)
	// Started is called with the process id once the process runs, before it gets its stdin. It may be nil and must not
	// block.
	Started func(pid int)
	// Timeout replaces Config's for this job; 0 means Config's, below 0 means none.
	Timeout time.Duration
	// Message is the description of the message that a pool sends to its children: their environment was created before the
	// message came. [Runner.Do] ignores it: it has Env.
	Message Message
}

// Message describes a job's message, without its body.
type Message struct {
	ID         string // at most 256 bytes; "": the pool creates one
	Receives   int    // deliveries, this one included
	Group      string
	Attributes map[string]string
}

// Result describes the end of a job. It holds only bounded parts of the job's output.
type Result struct {
	Class    bezoar.Class
	Detail   string // for people: "exit status 65", "signal: segmentation fault (core dumped)"
	ExitCode int    // -1 when a signal ended it or it never ran
	Signal   string // "SIGSEGV"; also if a shell reported it as 128+n
	// Unexplained means that an unknown process sent SIGKILL: the class is crash, but the evidence is weak.
	Unexplained bool
	Report      *Report // the child's report on descriptor 3; nil if none or invalid
	ReportErr   error   // why the report is invalid
	Stdout      []byte  // last bytes of stdout
	Stderr      []byte  // last bytes of stderr
	Elapsed     time.Duration
	CPU         time.Duration // of the process and of the children it waited for
	MaxRSS      int64         // bytes, of the largest of them
	Err         error         // why it could not be started
	// Left names processes of the job that could not be killed; nil: none is left.
	Left *Left
	// Unread means that the job ended without reading any of its stdin. Always false outside Linux, where it is unknown.
	Unread bool
}
