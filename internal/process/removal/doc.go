// Package removal says whether a worker is being removed, for owners who may
// change their mind before it is gone.
//
//	         Remove                  Drain, to the end
//	active ─────────► being removed ───────────────────► gone
//	   ▲                    │
//	   └─────── Keep ───────┘
//
// The goroutine of the worker watches [Removal.Context], which ends when the worker is to
// be removed. It finishes its work in [Removal.Drain], which Keep cuts short. If a worker
// that has drained may be wanted again, the caller decides with [Removal.Removing], under
// its own lock.
package removal
