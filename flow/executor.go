package flow

import (
	"context"
	"io"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// Executor runs attempts. The local one starts child processes; others may
// start containers or jobs elsewhere. It must guarantee:
//
//   - Start is idempotent: a token starts at most once, even if Start is called
//     again after an error or by a later process.
//   - Wait returns only when no process of the attempt runs any more. Later calls
//     return the same answer.
//   - Absent returns nil only if no process of the attempt runs and none ever
//     will, even if Start was interrupted. It ends the processes that it finds.
//   - Logs are kept from the first byte, however the attempt ends.
//
// An executor that is not certain returns an error. The next attempt then waits.
type Executor interface {
	Start(ctx context.Context, s Spec) error
	Wait(ctx context.Context, token int64) (Ending, error)
	// Stop ends an attempt: by a signal first, by force after its grace. It does not wait. The attempt then has the given
	// class, unless it ended with another one itself.
	Stop(ctx context.Context, token int64, class bezoar.Class, why string) error
	Absent(ctx context.Context, token int64) error
	// Logs reads the log of an attempt from offset. With follow, it continues until the
	// attempt has ended.
	Logs(ctx context.Context, token, offset int64, follow bool) (io.ReadCloser, error)
}

// Spec is an attempt with everything that it needs to run. Its templates are rendered; its references to secrets are not
// resolved.
type Spec struct {
	Token   int64
	Run     string
	Flow    string
	Task    string
	Index   int
	Item    string
	N       int
	Command []string
	Func    string
	Sensor  *Sensor
	Sift    *Sift
	Stdin   []byte
	Env     map[string]Value
	Dir     string
	Timeout time.Duration
	Grace   time.Duration
	Memory  int64
	Alone   bool  // no other attempt may run on the node at the same time; the engine ensures it
	Input   Input // for functions
}
