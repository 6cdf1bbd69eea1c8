package bezoar

import "fmt"

// Class says how an attempt ended, in the terms that decide what happens next.
type Class uint8

// The classes. Crash, OOM and Timeout end an epoch; Interrupted and
// SpawnFailed blame nobody's work.
const (
	Done        Class = iota // the worker answered
	Transient                // may work next time
	Throttled                // the downstream asked for patience
	Outage                   // the downstream is not there
	Invalid                  // the work itself is malformed
	Bug                      // the handler failed on it
	Crash                    // the worker died on it
	OOM                      // the kernel killed the worker for memory
	Timeout                  // overdue; had to be stopped from outside
	Interrupted              // a drain, deploy or abort; free of blame
	SpawnFailed              // the worker could not be started
)

const classCount = int(SpawnFailed) + 1

// String returns the class's stable name, as it appears in JSON and logs.
func (c Class) String() string {
	if names := [...]string{"done", "transient", "throttled", "outage", "invalid", "bug", "crash", "oom", "timeout", "interrupted", "spawn-failed"}; int(c) < len(names) {
		return names[c]
	}
	return fmt.Sprintf("class(%d)", uint8(c))
}

// MarshalText encodes the stable name.
func (c Class) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText decodes a stable name.
func (c *Class) UnmarshalText(text []byte) error {
	for i := range classCount {
		if Class(i).String() == string(text) {
			*c = Class(i)
			return nil
		}
	}
	return fmt.Errorf("class %.40q is unknown", text)
}
