// Package flowapi lets people and programs see flows and change them: the documents of
// the API, a [Service] that answers from a store, a [Server] for HTTP and a [Client] for
// it.
//
// Service and Client have the same methods, [Flows]. So a command works in the same way
// whether it asks a Bezoar that serves, asks a `flow run` on the socket of its state
// directory, or opens a state directory that nobody uses.
//
// Names, reasons, outputs and logs come from tasks and are hostile. They travel as JSON
// strings or as plain bytes; the program that shows them must escape them.
//
// An order (retry, skip, cancel) is written to the store. The node that plans the run
// carries it out. [Ordered] tells how many instances the order applies to at the time of
// the call; that may have changed when it is carried out.
package flowapi
