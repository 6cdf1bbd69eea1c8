// Package sqs reaches queues behind the SQS protocol, and is one as a sink of an outbox.
//
// In a FIFO queue an event's key is the message group and its ID is what SQS
// deduplicates by, within five minutes. No call has two events of one key, because SQS
// may refuse the first one of them and take the second one.
package sqs
