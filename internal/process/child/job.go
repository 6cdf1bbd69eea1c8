package child

import (
	"io"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// Job is one run of the command.
type Job struct {
	Name    string        // for logs and for BEZOAR_JOB; may be ""
	Command []string      // instead of Config's; so are the next three
	Dir     string        // "": Config's
	Grace   time.Duration // 0: Config's
	Memory  int64         // bytes; 0: Config's
	Env     []string      // KEY=value, over Config's
	Stdin   []byte        // written once the limits apply; not changed, not kept
	Stdout  io.Writer     // gets all of stdout beside the tail; nil: the tail only
	Stderr  io.Writer     // likewise
	// Row is told of each bad row that the job names in a line of its own on
	// descriptor 3, {"row": 7, "reason": "…", "body": "…"}, as it comes; nil: there are
	// no such lines, and the rows of a [Report] are all.
	Row func(Row)
	// Started is told the process id once it runs, before it gets its stdin; nil:
	// nobody is. It must not block.
	Started func(pid int)
	// Timeout is for this job instead of Config's; 0 means Config's, below 0
	// means none.
	Timeout time.Duration
	// Message is what a pool tells its children about the message, since their
	// environment was made before it came. [Runner.Do] does not look at it: it
	// has Env.
	Message Message
}

// Message is the message that a job is for, apart from its body.
type Message struct {
	ID         string // at most 256 bytes; "": the pool makes one up
	Receives   int    // this one included
	Group      string
	Attributes map[string]string
}

// Result says how a job ended. Only bounded pieces of what it wrote are in it.
type Result struct {
	Class    bezoar.Class
	Detail   string // for people: "exit status 65", "signal: segmentation fault (core dumped)"
	ExitCode int    // -1 when a signal ended it or it never ran
	Signal   string // "SIGSEGV"; also when a shell in front reported it as 128+n
	// Unexplained says that SIGKILL came from nobody we know: the class is
	// crash, but only half the evidence of one.
	Unexplained bool
	Report      *Report // what the child said on descriptor 3; nil when nothing, or nothing valid
	ReportErr   error   // what was wrong with it
	Stdout      []byte  // the end of it
	Stderr      []byte  // the end of it
	Elapsed     time.Duration
	CPU         time.Duration // of the process and the children that it waited for
	MaxRSS      int64         // bytes, of the largest of them
	Err         error         // why it could not be started
	// Left says that not all that the job has left could be ended; nil: nothing is
	// left.
	Left *Left
	// Unread says that it ended without having read any of its stdin; false where
	// that is not known, which is beside Linux.
	Unread bool
}
