// Package secret keeps the deployment's secret in a file: 32 random bytes that key every
// fingerprint. Anybody who can read it can forge fingerprints, so a file that others may
// read is refused. If the secret is lost, all verdicts are lost, so it is made once,
// durably, and never written again.
//
// The file's filesystem must support hard links. A crash while the secret is being made
// may leave a draft beside it, named ".NAME." and random letters. Nothing uses the draft.
package secret
