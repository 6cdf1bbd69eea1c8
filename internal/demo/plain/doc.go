// Package plain is what stands before a fleet without Bezoar: a round-robin
// balancer that does what the usual ones do when told to retry whatever failed.
//
// When a connection breaks it sends the same request to the next worker,
// whatever the method, until one answers or all have been tried, and leaves the
// worker alone for a moment. It also does what an orchestrator does around it:
// workers that are down are taken out at once, and one that fails its liveness
// checks is killed. All of that is in its favour, and none of it asks what the
// request has to do with it.
package plain
