// Package outboxdemo shows what crashes do to an application that writes a row and
// sends an event: three ways to do both, the same crashes, and what was lost.
//
//	write, then send   a crash between the two loses the event
//	send, then write   a crash between the two invents an event
//	outbox             the event is written with the row, and a relay sends it
//
// Application and relay are processes of their own, which kill themselves with
// SIGKILL at a point that is drawn beforehand. The place that events are sent to is
// this process, which no crash hits.
package outboxdemo
