import type { MagicLinkRequest } from "../ports.ts"
import type { App } from "../records.ts"

export interface PresentedLink {
  /** What was asked for the address that the link went to, and has not expired; newest first. */
  requests: readonly MagicLinkRequest[]
  app: App
  /** BASE64URL(SHA-256(code verifier)) of the verifier that came along; null when none did. */
  challengeShown: string | null
}

/**
 * Whether a link that the provider takes is taken from this client.
 *
 * A provider's link does not say who asked for it; the newest request is the one whose link is good, unless its mail was
 * held back by the provider's own limit. So a verifier may be that of any request of this app, and who shows none must
 * be where none was asked for: the newest request is of this app and without a challenge, which an app that asks for the
 * same device never takes (RFC 7636, which has the same downgrade in mind). A link that nobody asked for here is not
 * taken.
 */
export function judgeLink({ requests, app, challengeShown }: PresentedLink): boolean {
  if (challengeShown !== null) {
    return requests.some(({ appId, codeChallenge }) => appId === app.id && codeChallenge === challengeShown)
  }
  const [newest] = requests
  return !app.settings.requireSameDevice && newest?.appId === app.id && newest.codeChallenge === null
}
