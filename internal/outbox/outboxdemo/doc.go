// Package outboxdemo shows how crashes affect an application that writes a row and sends an
// event. It runs three ways to do both with the same crashes, and counts lost events.
//
//	write, then send   a crash between the two loses the event
//	send, then write   a crash between the two invents an event
//	outbox             the event is written with the row, and a relay sends it
//
// The application and the relay are separate processes. They kill themselves with SIGKILL
// at points chosen at random in advance. The receiver of the events is this process, which
// never crashes.
package outboxdemo
