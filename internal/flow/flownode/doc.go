// Package flownode is a process that plans flows and runs their attempts: an engine
// over a store, and the local executor below a directory.
//
//	store ◄──► engine ──► executor ──► child processes
//
// A [Node] that works alone plans nothing: it claims attempts whose labels it has, and
// reports how they ended. One process at a time has the directory. A node keeps its name
// after a restart, so that it can report how its attempts ended.
//
// When Run is told to end, the engine stops this node's attempts and gives its runs to
// other nodes. Then the executor ends.
package flownode
