// Package outgoing has what all sinks of an outbox share: how to send many records at
// once and keep those of each key in order, and how an event is told to others.
//
// Events are told in the words of CloudEvents 1.0: each has the attributes id, source,
// type, time and specversion, its key is the subject, and its topic and its number
// within its key are the extensions topic and sequence.
package outgoing
