// Package connlimit bounds the connections of a server of net/http. While there is
// no place, the connection that has been silent for the longest makes room for who
// comes: callers who hold connections and say nothing keep nobody away.
//
// It also shares out file descriptors. Listeners take a part each ([Share]), which
// leaves a quarter for workers, stores and logs; and [Exhausted] tells that this
// process, or its machine, has run out, which is nobody else's fault.
package connlimit
