// Package alarm tells somebody when dead letters need them: too many, too old,
// too fast, or a redrive that ended or halted. It posts to a webhook, runs a
// command, or both, and says by numbers where each alarm stands.
//
// # An alarm's life
//
//	           beyond the limit
//	quiet ──────────────────────► firing ◄─┐ told at once, and again
//	  ▲                             │      │ every Repeat while it lasts
//	  │  told once, if its firing   ├──────┘
//	  └──── was ────────────────────┘
//	     a fifth below the limit for a minute
//
// An alarm that fires again soon after it resolved tells so only when Repeat has
// passed since it last told that it fires. An alarm about redrives tells once of
// each that ended or halted, and repeats what still stands halted.
//
// # Guarantees
//
// State is in marks, changed by compare and swap: of all processes on one store
// one tells. If it dies while it does, another one tells after two minutes, or
// at once if it had time to say so; an event keeps its id, by which the listener
// knows it again. What could not be told is tried again after five minutes, as
// long as it is still true.
//
// Package tell says how it tells by a webhook and by a command.
//
// # Not guaranteed
//
// What begins and ends between two looks is not seen. Rates count letters that
// are still there: one that was discarded within the minute does not count. The
// local clock decides how old is too old.
package alarm
