package gateway

import "time"

// deadline returns by when the caller wants its answer; zero when it does not
// say.
func (j *job) deadline(now time.Time) time.Time { return time.Time{} }
