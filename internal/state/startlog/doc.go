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
// When Begin returns nil, the record survives the death of the process, of the kernel and
// of the power supply. Begins that come together share one sync. Everything else survives
// the process, however it dies, and may be lost with the kernel: after a machine's death
// a due record counts as running, and a record of a message that had just ended may
// remain.
//
// One process at a time has a folder; another process gets an error that names the owner.
// A damaged start log is moved aside, and Note says so; it never prevents a start. A
// single torn record belongs to a Begin that had not returned.
//
// # Bounds
//
// The file has 4 KiB for each slot and does not grow beyond the most slots
// that were ever asked for. A Record that does not fit is refused.
package startlog
