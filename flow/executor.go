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
//   - Start is idempotent: a token starts at most once, also when Start is called
//     again after an error or by the next life of the process.
//   - Wait returns only when nothing of the attempt runs any more, and returns
//     the same answer to whoever asks again.
//   - Absent returns nil only if nothing of the attempt runs and nothing ever
//     will, also if Start was interrupted half way. It ends what it finds.
//   - Logs are kept from the first byte, whatever happens to the attempt.
//
// An executor that cannot say so for certain returns an error, and the next
// attempt waits.
type Executor interface {
	Start(ctx context.Context, s Spec) error
	Wait(ctx context.Context, token int64) (Ending, error)
	// Stop ends an attempt: by a signal first, by force after its grace. It does not wait.
	// The attempt then has the given class, unless it reached another one itself.
	Stop(ctx context.Context, token int64, class bezoar.Class, why string) error
	Absent(ctx context.Context, token int64) error
	// Logs reads the log of an attempt from offset. With follow, it continues until the
	// attempt has ended.
	Logs(ctx context.Context, token, offset int64, follow bool) (io.ReadCloser, error)
}

// Spec is an attempt with everything that it needs to run. Templates are rendered;
// references to secrets are not resolved.
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
	Alone   bool  // nothing else may run on the node at the same time; the engine ensures it
	Input   Input // for functions
}
