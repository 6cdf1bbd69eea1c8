// Package signer holds no code: its tests have AWS's own signer sign what
// Bezoar's verifier then has to accept, and change it, so that it has not to.
package signer
