// Package sqs serves queues over HTTP in the way of Amazon SQS: all 23
// operations, in the AWS JSON 1.0 protocol and in the older Query protocol that
// answers XML, at / and at /ACCOUNT/QUEUE. SDKs of any age need only an
// endpoint URL.
//
// # One implementation
//
// A decoder per protocol fills the same request; a table names what each
// operation does with it; one encoder writes either form. An operation is one
// entry of that table and one method.
//
//	guard ─► read ─► verify ─► decode (JSON or form) ─► operation ─► encode ─► write
//	                                                        │                    │
//	                                                  queue.Engine ◄── undo ─────┘
//
// # Guarantees
//
// Errors carry the codes of both protocols, so that an SDK of either
// generation recognises them. Messages whose answer could not be written, as
// their caller was gone, are visible again at once and the receive does not
// count. When the server stops, waiting receives answer at once, without
// messages; what is under way is finished.
//
// # Not as on AWS
//
//   - Message moves at the end of its last lease, not at the next receive.
//   - A queue may be made anew directly after its deletion: QueueDeletedRecently
//     is never answered.
//   - OverLimit counts what one process has in flight, not what all that share a
//     store have.
//   - Copies of a payload that nobody has worked yet wait for those that another
//     receive has taken (see package queue), so a receive may return fewer
//     messages than there are.
//   - Names are unique whatever the region and the account: those in a URL or an
//     ARN are not looked at, and answers carry the caller's region.
//   - Policies and encryption settings are kept and shown, and have no effect.
//   - What is remembered of receives by ReceiveRequestAttemptId, and of purges,
//     is known to one process only.
//   - A deleted message's receipt is known to be old even if the message has been
//     received again since: deleting with it does nothing, and succeeds.
//
// # Beyond AWS
//
// Attributes of queues that begin with Bezoar set what SQS has no words for
// ([queue.Settings]). The message attribute BezoarPriority, a Number from 0 to
// 9, is a message's priority. BezoarOutcome beside ChangeMessageVisibility, in
// an entry of its batch, or in the header X-Bezoar-Outcome, reports how a
// delivery ended; with "reject" it is a dead letter at once. The same header
// beside SendMessage makes a dead letter of what is sent: a part of a message.
// The header X-Bezoar-Worker beside ReceiveMessage names who receives, and says
// that it reports its own death. The system attribute BezoarAlone, when asked for
// by name, tells that a message is suspected and was delivered alone.
//
// # Bounds
//
// A request has at most 32 KiB of headers and [MaxRequest] bytes, 64 requests
// of more than 64 KiB are read at a time, and each has 20 s to arrive. A call
// has 30 s beyond what it waits for messages. At most Config.MaxConnections are
// open; while there is no place, the one that has been silent for the longest goes.
package sqs
