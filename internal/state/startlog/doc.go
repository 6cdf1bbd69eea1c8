// Package startlog writes down which messages a worker is about to run, before it
// runs them, so that the next start knows exactly which ones a dead worker was
// running.
//
//	Begin ──► due ──► Running ──► Ended ──► Clear
//	           │         │          │
//	           │         │          └─ died here: how it ended is known, only nobody was told
//	           │         └─ died here: it was running
//	           └─ died here: it had not begun
//
// # Guarantees
//
// When Begin returns nil the record survives the death of the process, of the
// kernel and of the power supply. Begins that come together share one sync.
// Everything else survives the process, however it dies, and may be lost with
// the kernel: after a machine's death a record that is due counts as running, and
// there may be one of what had just ended.
//
// One process at a time has a folder; another one is told whose it is. A start log
// that is damaged is moved aside, and Note says so: it is never a reason not to
// start. A single record that was torn belongs to a Begin that had not returned.
//
// # Bounds
//
// The file has 4 KiB for each slot and does not grow beyond the most slots
// that were ever asked for. A Record that does not fit is refused.
package startlog
