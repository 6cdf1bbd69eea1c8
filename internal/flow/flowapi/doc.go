// Package flowapi is how people and programs see flows and change them: the
// documents of the API, a [Service] that answers from a store, a [Server] for
// HTTP and a [Client] for it.
//
// Service and Client have the same methods, [Flows]. So a command works in one
// way, whether it asks a Bezoar that serves, a `flow run` behind the socket of its
// state directory, or opens a state directory that nobody uses.
//
// Names, reasons, outputs and logs come from tasks and are hostile: they travel as
// JSON strings or as plain bytes, and whoever shows them escapes them.
//
// An order (retry, skip, cancel) is written to the store. The node that plans the
// run carries it out; [Ordered] says how many instances it applies to as the run
// stands now. Not guaranteed: that it still applies when it is carried out.
package flowapi
