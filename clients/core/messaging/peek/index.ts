// @signet/client/messaging/peek: previews for a notification, read ahead of the stored state. Separate, so that a page
// does not load it.
import { verifyEd25519 } from "@signet/canonical/ed25519"
import { makeWebSuite } from "../crypto/web-suite.ts"
import { type Peeked, type PeekOptions, peekWith } from "./peek.ts"

export { boundedTransport } from "./bounded-transport.ts"
export type { Peeked, PeekOptions, Preview } from "./peek.ts"

/**
 * Reads the messages that the app has not processed, and stores nothing. The app may run at the same time.
 *
 * Reads at most 200 envelopes, 8 commits and 2 MiB, in 2 seconds. It holds less than 20 MB, also with a hostile service, if
 * `transport` is a `boundedTransport`: another one may decode answers of any size.
 *
 * Never rejects: after any failure the result is "newMessages".
 */
export async function peek(options: PeekOptions): Promise<Peeked> {
  return peekWith(options, { suite: await makeWebSuite(), verify: verifyEd25519 })
}
