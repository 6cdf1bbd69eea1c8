// Package task decides what becomes of one task of a flow: which states follow
// each other, whether a failed attempt is tried again, and when. It is pure: the
// time and randomness are arguments.
//
//	            needs met          slot, attempt written down
//	PENDING ───────────────► READY ──────────────► RUNNING ──────► SUCCESS
//	 │   ▲                   ▲ ▲ ▲                  │ │ │ │
//	 │   │ retried           │ │ └── RETRYING ◄─────┘ │ │ └─► FAILED (permitted, or too late)
//	 │   │                   │ └──── INTERRUPTED ◄────┘ │
//	 │   │                   └────── SENSING ◄──────────┤  not yet
//	 │   │                                              ▼
//	 │   └── HELD ◄── what it needs is ── DEAD_LETTER ◄─┘
//	 │                                       │
//	 │                                       └──► READY (retried), SKIPPED (permitted), CANCELLED
//	 ├──► HELD, UPSTREAM_FAILED, SKIPPED, CANCELLED
//
// Only RUNNING holds a slot.
package task
