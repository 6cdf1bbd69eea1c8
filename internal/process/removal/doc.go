// Package removal says whether a worker is being removed, for owners who may
// change their mind before it is gone.
//
//	         Remove                  Drain, to the end
//	active ─────────► being removed ───────────────────► gone
//	   ▲                    │
//	   └─────── Keep ───────┘
//
// The goroutine of the worker watches [Removal.Context], which ends when the
// worker is to be removed. It finishes its work in [Removal.Drain], which is cut
// short by Keep. When a worker that has drained may be wanted again, the caller
// decides, under a lock of its own, with [Removal.Removing].
package removal
