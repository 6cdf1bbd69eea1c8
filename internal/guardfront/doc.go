// Package guardfront applies the guard of a route to its requests. It finds the queries
// in a request, has the guard judge them, and answers the caller in the form that clients
// of the backend understand.
//
// A front makes a [Check] for each request. It calls [Check.Judge] before a worker gets
// the request, and [Check.Observe] after. A [Recorder] writes judged requests to a file.
package guardfront
