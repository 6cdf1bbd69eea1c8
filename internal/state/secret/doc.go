// Package secret keeps the deployment's secret in a file: 32 random bytes that
// key every fingerprint. Whoever can read it can forge fingerprints, so a file
// that others may read is refused. Whoever loses it loses all verdicts, so it is
// made once, durably, and never written again.
//
// The file's filesystem must have hard links. A crash while the secret is being
// made may leave a draft beside it, ".NAME." and random letters, which nobody
// uses.
package secret
