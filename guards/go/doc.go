// Package guard answers two questions in a service's own process: who is calling, and may they.
//
// It verifies Signet's access tokens with the issuer's public keys and decides what a [Requirement] asks, without a
// database and without a shared secret. [Guard.Handler] and [HTTPGuard] protect net/http; package
// [signet.dev/guard/grpcguard] protects gRPC. Every refusal is a [*Denial] with a typed [Reason].
//
// A guard without a [RevocationFeed] knows what the token knows: a logout counts when the token expires. Everything in
// this package is safe for use by several goroutines.
package guard
