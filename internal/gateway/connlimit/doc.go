// Package connlimit bounds the connections of a net/http server. When all places are
// taken and another connection comes, the connection that has been silent for the longest
// is closed. So callers that hold connections and send nothing do not keep others out.
//
// It also shares out file descriptors. Each listener takes a part ([Share]), and a
// quarter stays free for workers, stores and logs. [Exhausted] reports that this process
// or its machine has run out of descriptors; then the caller and the worker are not to
// blame.
package connlimit
