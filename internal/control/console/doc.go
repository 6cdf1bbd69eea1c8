// Package console serves the console: pages with their own HTML, CSS and ES modules,
// embedded, without a library or a build step.
//
// The pages:
//
//   - "/" shows the state of all fleets, queues and alarms, the worst first; one fleet as an
//     animation; the quarantine; and events.
//   - "/queues" shows queues and handles dead letters.
//   - "/traffic" shows the top callers, what limits traffic (pools, circuit breakers,
//     overrides) and the versions of the settings.
//   - "/guards" shows the predicted cost of queries, by caller, and their outcomes.
//   - "/flows" shows the runs of flows: the graph and the times of tasks, logs, and possible
//     actions.
//   - "/outbox" shows the waiting events of outboxes, their relays, and what needs a person.
//
// While a fleet is in panic mode, a banner says so. All data comes from the admin API. A
// list never moves by itself, and an operation that is hard to undo is planned, counted and
// confirmed first. URLs contain the view, so that views can be linked.
//
// Texts of requests and messages are written by attackers. They reach the pages as JSON and
// the document as text nodes, never as markup. Invisible characters and characters that
// change the direction of text are spelled out. The content security policy of package
// admin allows no inline script or style.
package console
