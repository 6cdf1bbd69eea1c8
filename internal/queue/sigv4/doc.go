// Package sigv4 verifies requests signed with AWS Signature Version 4: in the
// Authorization header, and presigned in the query. The queue's SQS-compatible endpoint
// verifies requests with it. It knows neither queues nor wire formats.
//
// # Guarantees
//
// A request that Verify accepts was signed with the secret of one of the configured keys,
// for this service, at a time within the allowed skew (or, if presigned, within its own
// validity of at most seven days). Nothing that decides its effect was changed since: the
// method, the path, the query, the body, the Host, every header that the signature names,
// every X-Amz header and every header that Config.Signed names. Signatures are compared
// in constant time, and an unknown key costs the same work as a known one. No error and
// no printed value contains a secret or the expected signature.
//
// # Refused, although AWS accepts it
//
// Unsigned payloads (UNSIGNED-PAYLOAD and STREAMING-…): the SDKs use them for
// S3 only. Session tokens: there are no temporary credentials here, so a token
// could not be checked, and to ignore half of somebody's credentials would hide
// a mistake. Signature Version 4A and Version 2. Signed headers that are not
// sorted or not in lower case: every SDK sorts them.
//
// # Not guaranteed
//
// A request can be replayed unchanged for as long as its date holds, as on AWS; TLS keeps
// others from reading it. The Host and the path are those that arrive, so a proxy in
// between must not change them. The region may be any; it is part of what is signed, and
// nothing else depends on it.
//
// # Canonical form
//
// As AWS does it for every service but S3: dot segments and repeated slashes are removed
// from the path as it was on the wire, and then it is encoded once more (so encoded parts
// are encoded twice). Query parameters are decoded, encoded and sorted by name, then by
// value; a plus is a space, as for the reader of the query. Header values lose outer
// blanks, and inner ones are reduced to one; values of one name are joined with a comma
// in the order of arrival.
package sigv4
