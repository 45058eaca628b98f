import { parseMailboxPattern } from "./mailbox.ts"
import type { EnvelopeKey, ServiceAccount } from "./records.ts"

/** As many as a rotation on two machines needs. */
const mostKeys = 4

/** What adding an envelope key means: it is new, it is there, it was revoked for ever, it is taken, or there are too many. */
export function planEnvelopeKey(
  of: { readonly own: readonly EnvelopeKey[]; readonly known: EnvelopeKey | undefined },
  asked: Pick<EnvelopeKey, "serviceAccountId" | "mailboxes">,
): "add" | "there" | "revoked" | "taken" | "limit" {
  const { own, known } = of
  if (known === undefined) return own.filter((key) => key.revokedAtMs === null).length < mostKeys ? "add" : "limit"
  if (known.serviceAccountId !== asked.serviceAccountId) return "taken"
  if (known.revokedAtMs !== null) return "revoked"
  return isSame(known.mailboxes, asked.mailboxes) ? "there" : "taken"
}

const isSame = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((one) => b.includes(one))

/**
 * Which of the patterns the account may post to: those of what it is and of what it may call.
 *
 * @param authAudience The issuer's own audience, where nobody has a mailbox.
 */
export function postable(
  account: Pick<ServiceAccount, "ownedAudiences" | "allowedAudiences">,
  patterns: readonly string[],
  authAudience: string,
): readonly string[] {
  const audiences = new Set([...account.ownedAudiences, ...account.allowedAudiences])
  audiences.delete(authAudience)
  return patterns.filter((pattern) => audiences.has(parseMailboxPattern(pattern)?.audience ?? ""))
}
