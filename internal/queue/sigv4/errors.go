package sigv4

import (
	"fmt"
	"net/http"
)

// Codes of refusals, by AWS's names.
const (
	CodeMissingToken = "MissingAuthenticationToken" // nothing says who asks
	CodeIncomplete   = "IncompleteSignature"        // what says so is malformed, or leaves out what must be signed
	CodeUnknownKey   = "InvalidClientTokenId"       // no such access key, or a session token
	CodeMismatch     = "SignatureDoesNotMatch"      // another secret, or a request that was changed
	CodeExpired      = "RequestExpired"             // too old, or from the future
	CodeInvalidQuery = "InvalidQueryParameter"      // a presigned parameter with a value that cannot be
	CodeBodyTooLarge = "RequestEntityTooLarge"      // longer than Config.MaxBody
	CodeUnsignedBody = "InvalidContentSHA256"       // a payload that its sender did not want to sign
)

// Error is a refusal. Its message may be shown to whoever sent the request: it
// repeats at most what they sent.
type Error struct {
	code    string
	message string
}

// Code is AWS's name for it, such as SignatureDoesNotMatch.
func (e *Error) Code() string { return e.code }

// Message says what is wrong, and where it can be told what to do about it.
func (e *Error) Message() string { return e.message }

// Status is the HTTP status that AWS answers with.
func (e *Error) Status() int {
	switch e.code {
	case CodeMissingToken, CodeUnknownKey, CodeMismatch:
		return http.StatusForbidden
	case CodeBodyTooLarge:
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusBadRequest
}

func (e *Error) Error() string { return "verify the request's signature: " + e.code + ": " + e.message }

func refuse(code, format string, args ...any) *Error {
	return &Error{code: code, message: fmt.Sprintf(format, args...)}
}

// shown bounds what a message repeats of what was sent.
func shown(s string) string {
	const most = 128
	if len(s) > most {
		return fmt.Sprintf("%q…", s[:most])
	}
	return fmt.Sprintf("%q", s)
}
