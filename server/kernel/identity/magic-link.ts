import type { MagicLinkRequest } from "../ports.ts"
import type { App } from "../records.ts"

interface PresentedLink {
  /** Unexpired requests for the address that received the link, newest first. */
  requests: readonly MagicLinkRequest[]
  app: App
  /** BASE64URL(SHA-256(code verifier)) of the presented verifier; null if there was none. */
  challengeShown: string | null
}

/** Maximum time for which a provider delays the next mail to an address, in milliseconds. */
const heldBackMs = 60_000

/**
 * Returns whether this client may redeem a link that the provider accepted.
 *
 * The provider's link does not name its requester. Usually the newest request's link is valid, but the provider's rate
 * limit may have delayed that mail. So a code verifier may match any request of this app.
 *
 * Without a verifier, the newest request must be this app's and have no challenge. Apps with `requireSameDevice` always
 * need a verifier (RFC 7636 section 7.2 describes this downgrade).
 *
 * A link that may belong to another app's request is rejected. Otherwise the page that received that link could redeem
 * it here by requesting one here, too.
 */
export function judgeLink({ requests, app, challengeShown }: PresentedLink): boolean {
  const [newest] = requests
  // Also true for a request of another app itself.
  const mayBeElsewheres = (own: MagicLinkRequest) =>
    requests.some(({ appId, expiresAtMs }) => appId !== app.id && expiresAtMs >= own.expiresAtMs - heldBackMs)
  const isAsked = (own: MagicLinkRequest, codeChallenge: string | null) =>
    own.codeChallenge === codeChallenge && !mayBeElsewheres(own)
  if (challengeShown !== null) return requests.some((request) => isAsked(request, challengeShown))
  return !app.settings.requireSameDevice && newest !== undefined && isAsked(newest, null)
}
