package sigv4

import (
	"fmt"
	"net/http"
)

// Codes of refusals, as AWS names them.
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

// Error is a refusal. Its message may be shown to the sender of the request: it repeats only what the request contains.
type Error struct {
	code    string
	message string
}

// Code returns AWS's name for the error, such as SignatureDoesNotMatch.
func (e *Error) Code() string { return e.code }

// Message describes the error and, where possible, its remedy.
func (e *Error) Message() string { return e.message }

// Status returns the HTTP status that AWS answers with.
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

// shown limits what a message repeats of the request.
func shown(s string) string {
	const most = 128
	if len(s) > most {
		return fmt.Sprintf("%q…", s[:most])
	}
	return fmt.Sprintf("%q", s)
}
