import type { MagicLinkRequest } from "../ports.ts"
import type { App } from "../records.ts"

export interface PresentedLink {
  /** What was asked for the address that the link went to, and has not expired; newest first. */
  requests: readonly MagicLinkRequest[]
  app: App
  /** BASE64URL(SHA-256(code verifier)) of the verifier that came along; null when none did. */
  challengeShown: string | null
}

/** How long a provider holds back the next mail to an address at most, in milliseconds. */
const heldBackMs = 60_000

/**
 * Whether a link that the provider takes is taken from this client.
 *
 * A provider's link does not say who asked for it; the newest request is the one whose link is good, unless its mail was
 * held back by the provider's own limit. So a verifier may be that of any request of this app, and who shows none must
 * be where none was asked for: the newest request is of this app and without a challenge, which an app that asks for the
 * same device never takes (RFC 7636, which has the same downgrade in mind). A link that nobody asked for here is not
 * taken, nor one that may be another app's: whose page a link led to could else use it here, by asking here as well.
 */
export function judgeLink({ requests, app, challengeShown }: PresentedLink): boolean {
  const [newest] = requests
  const mayBeElsewheres = (own: MagicLinkRequest) =>
    requests.some(({ appId, expiresAtMs }) => appId !== app.id && expiresAtMs >= own.expiresAtMs - heldBackMs)
  const isAsked = (own: MagicLinkRequest, codeChallenge: string | null) =>
    own.appId === app.id && own.codeChallenge === codeChallenge && !mayBeElsewheres(own)
  if (challengeShown !== null) return requests.some((request) => isAsked(request, challengeShown))
  return !app.settings.requireSameDevice && newest !== undefined && isAsked(newest, null)
}
