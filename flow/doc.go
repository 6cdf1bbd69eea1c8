// Package flow runs tasks in the order of a directed acyclic graph, and keeps a
// task that fails again and again from wasting the rest.
//
//	Definition ──► Plan ──► Run: instances ──► READY ──► attempt, written down ──► Executor
//	                             ▲                                                  │
//	                             └── what follows ◄── policy/task ◄── Ending ◄──────┘
//
// An [Engine] plans the runs that it holds: in memory, one run after another, by
// pure rules (package policy/task). It writes each step as one batch to a [Store],
// fenced by its hold of the run. Nodes run attempts through an [Executor].
package flow
