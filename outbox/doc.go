// Package outbox delivers events if and only if the rows they tell of were
// written.
//
// An application writes an [Event] in the transaction that changes its own tables.
// A relay finds the events that are not sent yet and hands them to a [Sink]. An
// event is delivered at least once; its ID tells a consumer what it has seen.
// Events of one topic and key are delivered in the order in which they were written.
package outbox
