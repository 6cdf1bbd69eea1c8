// Package console serves the console: pages of its own HTML, CSS and ES
// modules, embedded, without a library and without a build step.
//
// The page at "/" shows how all fleets, queues and alarms stand, the worst first,
// one fleet as a moving picture, what is quarantined and what happens. The page at "/queues" shows queues, and deals with dead letters:
// its URL says which view is shown and of what, nothing in a list moves by
// itself, and what cannot be undone easily is planned, counted and confirmed
// first. The page at "/traffic" shows who causes most, what holds traffic back
// (pools, circuit breakers, overrides) and the versions of the settings. The page
// at "/guards" shows what queries were predicted to cost, whose they are and what
// became of them; its URL says of which route and caller. The page at "/flows" shows
// the runs of flows: the graph of one, when its tasks ran, their logs, and what can
// be done; its URL says which run and task. The page at "/outbox" shows what waits in
// the outboxes of applications, who delivers it and what needs a person. While a fleet is in
// panic mode, a banner says so. All of it is from the admin API; the pages know
// nothing that the API does not say.
//
// Whatever came with a request or a message is attacker-written: it reaches the
// pages as JSON and the document as text nodes, never as markup, with characters
// that cannot be seen, or that turn the direction of text, spelled out. The
// content security policy that admin sets allows no inline script or style.
package console
