package sqs

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/bezoar-dev/bezoar/queue"
)

// code holds an error's names: one in the JSON protocol, an older one in the Query protocol. SDKs of both kinds show the
// older one.
type code struct {
	modern string
	legacy string
	status int
	space  string // of the modern name
}

func (c code) text(format string, args ...any) *fault {
	return &fault{code: c, message: fmt.Sprintf(format, args...)}
}

const (
	modelled = "com.amazonaws.sqs#"        // errors of the SQS model
	common   = "com.amazon.coral.service#" // errors of all services
	prefix   = "AWS.SimpleQueueService."   // of many older names
)

// The errors of the model.
var (
	queueMissing   = code{"QueueDoesNotExist", prefix + "NonExistentQueue", 400, modelled}
	queueExists    = code{"QueueNameExists", "QueueAlreadyExists", 400, modelled}
	attributeName  = code{"InvalidAttributeName", "InvalidAttributeName", 400, modelled}
	attributeValue = code{"InvalidAttributeValue", "InvalidAttributeValue", 400, modelled}
	contents       = code{"InvalidMessageContents", "InvalidMessageContents", 400, modelled}
	receiptInvalid = code{"ReceiptHandleIsInvalid", "ReceiptHandleIsInvalid", 404, modelled}
	batchEmpty     = code{"EmptyBatchRequest", prefix + "EmptyBatchRequest", 400, modelled}
	batchTooMany   = code{"TooManyEntriesInBatchRequest", prefix + "TooManyEntriesInBatchRequest", 400, modelled}
	batchTooLong   = code{"BatchRequestTooLong", prefix + "BatchRequestTooLong", 400, modelled}
	batchID        = code{"InvalidBatchEntryId", prefix + "InvalidBatchEntryId", 400, modelled}
	batchSameID    = code{"BatchEntryIdsNotDistinct", prefix + "BatchEntryIdsNotDistinct", 400, modelled}
	purging        = code{"PurgeQueueInProgress", prefix + "PurgeQueueInProgress", 403, modelled}
	notFound       = code{"ResourceNotFoundException", "ResourceNotFoundException", 404, modelled}
	unsupported    = code{"UnsupportedOperation", prefix + "UnsupportedOperation", 400, modelled}
	overLimit      = code{"OverLimit", "OverLimit", 403, modelled}
	address        = code{"InvalidAddress", "InvalidAddress", 404, modelled}
)

// The errors that all AWS services have.
var (
	parameter     = code{"InvalidParameterValueException", "InvalidParameterValue", 400, common}
	missing       = code{"MissingRequiredParameterException", "MissingParameter", 400, common}
	malformed     = code{"SerializationException", "MalformedQueryString", 400, common}
	actionUnknown = code{"UnknownOperationException", "InvalidAction", 400, common}
	actionMissing = code{"UnknownOperationException", "MissingAction", 400, common}
	denied        = code{"AccessDeniedException", "AccessDenied", 403, common}
	tooLarge      = code{"RequestEntityTooLargeException", "RequestEntityTooLarge", 413, common}
	busy          = code{"ServiceUnavailableException", "ServiceUnavailable", 503, common}
	internal      = code{"InternalFailure", "InternalFailure", 500, common}
)

// fault is an error as callers see it.
type fault struct {
	code
	message string
	retry   time.Duration // when to try again, if known
}

func (f *fault) Error() string { return f.legacy + ": " + f.message }

// sender reports whether the error is the caller's.
func (c code) sender() bool { return c.status < 500 }

// invalid returns the fault of a parameter's value.
func invalid(value any, name, why string, args ...any) *fault {
	return parameter.text("Value %.200s for parameter %s is invalid. Reason: %s", fmt.Sprint(value), name, fmt.Sprintf(why, args...))
}

// absent returns the fault of a missing parameter.
func absent(name string) *fault {
	return missing.text("The request must contain the parameter %s.", name)
}

func noQueue() *fault { return queueMissing.text("The specified queue does not exist.") }

func busyFor(d time.Duration, why string) *fault {
	f := busy.text("%s; try again in %v", why, d)
	f.retry = d
	return f
}

// faultOf converts an error of the engine into a fault. Faults pass unchanged.
func faultOf(err error) *fault {
	if f, ok := errors.AsType[*fault](err); ok {
		return f
	}
	switch queue.CodeOf(err) {
	case queue.ErrQueueNotFound:
		return noQueue()
	case queue.ErrInvalid, queue.ErrTooLarge, queue.ErrDeadLetterRefuse, queue.ErrNoDeadLetter:
		return parameter.text("%v", err)
	case queue.ErrNotDeadLetter:
		return parameter.text("Source queue must be configured as a Dead Letter Queue.")
	case queue.ErrSchema:
		return contents.text("%v", err)
	case queue.ErrReceiptInvalid:
		return receiptInvalid.text("The input receipt handle is invalid.")
	case queue.ErrMoveNotFound:
		return notFound.text("Task does not exist.")
	case queue.ErrMoveRunning:
		return parameter.text("There is already a task running. Only one active task is allowed for a source queue arn at a given time.")
	case queue.ErrMoveNotRunning:
		return unsupported.text("The task is not running.")
	case queue.ErrOverLimit:
		return overLimit.text("%v", err)
	case queue.ErrNoAnswer:
		return busyFor(time.Second, "the store does not answer")
	case queue.ErrNoSpace:
		return busyFor(5*time.Second, "the disk of the store is full")
	case queue.ErrConflict:
		return busyFor(100*time.Millisecond, "another call is changing the queue")
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return busyFor(time.Second, "the store did not answer in time")
	}
	return internal.text("The request failed for a reason that the server's log tells.")
}

// verdict converts a verifier's error into a fault.
func verdict(err error) *fault {
	name, status := "AccessDenied", http.StatusForbidden
	var coded interface{ Code() string }
	if errors.As(err, &coded) {
		name = coded.Code()
	}
	var with interface{ Status() int }
	if errors.As(err, &with) {
		status = with.Status()
	}
	text := err.Error()
	var worded interface{ Message() string }
	if errors.As(err, &worded) {
		text = worded.Message()
	}
	return code{name, name, status, common}.text("%s", text)
}
