// Package round drives an SQS endpoint through everything that the AWS SDK for
// Go can ask of it, and says of each check whether it passed. It is built
// against two versions of the SDK: one speaks the Query protocol, one JSON.
package round
