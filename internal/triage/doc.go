// Package triage is where people deal with dead letters: those of every
// queue, and those that a [Source] adds. It looks at them by what failed, and
// sends them again, discards or restores them, one or a hundred thousand.
//
// # Plans
//
// What is done to many is planned first. A [Plan] freezes which letters are
// meant: those that are there now, by the largest sequence number. It names
// their exact count, a sample, and what would happen.
//
//	Plan ──► open ──── Execute, every part still has its count ────► used ──► a task for each part
//	           │  │                                                    ▲
//	           │  └─── Execute, another count ──► [ChangedError]       └─ whoever is second: ErrPlanUsed
//	           │                                  (stays open)
//	           └─ after [PlanFor] ──► gone: ErrPlanNotFound
//
// A letter that arrives after the plan was made is never touched by it. One that
// is gone, because somebody else moved it or a worker received it, makes
// Execute refuse. Between that check and the task's first step a letter may
// still go; then it is not moved, and the task's count says so. [Service.Do] plans
// and executes at once, for those who say how many letters they expect.
//
// # Tasks
//
//	            Pause                    everything moved
//	paused ◄──────────── running ────────────────────────────► completed
//	   │  ──────────────►  │ ▲
//	   │       Resume      │ │ Resume: what failed is forgiven
//	   │                   ▼ │
//	   │ Cancel          halted  too many failed again: see queue.MoveTask
//	   ▼                   │ Cancel
//	cancelled ◄────────────┴──── from running, too;  failed: the destination is gone
//
// The queues move their letters themselves, in transactions, and go on after a
// crash where they were. The letters of a source are moved by [Service.Run] of one
// of the services that have it, one by one: which one is written down before it is
// run. If that process dies, another one, or the same after its start, goes on
// within two minutes; the letter that was being run counts as failed again and
// is not run twice by the task.
//
// # The log
//
// Every action is in the audit log, and every refusal: who, what, the
// selection, the planned and the actual count, the reason, the outcome. The end
// of a task is an entry of its own, written at least once.
//
// # Not guaranteed
//
// The log is written after the action; if the store fails in between, the entry
// goes to the process's own log. Discarded letters of a source have no trash.
// Values of attributes that are named like secrets are masked wherever letters
// are shown or exported; bodies are not looked at.
//
// # Bounds
//
// A selection names at most queue.MaxSelected groups and ids, of 40 KiB, and a
// plan covers at most 50 queues, with a task for the letters of each. Lists
// have at most [MaxLetters] entries and no bodies. An export holds one letter
// at a time. Of a source 100 tasks may be live, and each process works on four.
package triage
