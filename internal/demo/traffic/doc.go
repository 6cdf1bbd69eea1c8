// Package traffic is the crowd in front of the demonstration's fleet: good
// callers of several routes at a steady rate, whoever is slow, and somebody who
// keeps sending pills.
//
// The crowd is open-loop: it sends at its rate however long answers take, as
// real callers do. It never sends anything twice. Whether an answer is right is
// judged by its status and body, and what came of everything is in a [Tally].
package traffic
