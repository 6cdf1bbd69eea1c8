// Package flownode is a process that plans flows and runs their attempts: an engine
// over a store, and the local executor below a directory.
//
//	store ◄──► engine ──► executor ──► child processes
//
// A [Node] that works alone plans nothing: it claims attempts whose labels it has,
// and reports how they ended. One process at a time has the directory; a node has
// the same name in its next life, so that it can say what became of its attempts.
//
// When Run is told to end, the engine stops this node's attempts and gives its runs
// to others; the executor ends after it.
package flownode
