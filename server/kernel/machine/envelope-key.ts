import { parseMailboxPattern } from "./mailbox.ts"
import type { EnvelopeKey, ServiceAccount } from "./records.ts"

/** Enough to rotate the keys of two machines. */
const maxKeys = 4

/**
 * Decides whether an envelope key can be added. "taken": another account or other mailboxes. "revoked": permanently
 * revoked.
 */
export function planEnvelopeKey(
  of: { readonly own: readonly EnvelopeKey[]; readonly known: EnvelopeKey | undefined },
  asked: Pick<EnvelopeKey, "serviceAccountId" | "mailboxes">,
): "add" | "there" | "revoked" | "taken" | "limit" {
  const { own, known } = of
  if (known === undefined) return own.filter((key) => key.revokedAtMs === null).length < maxKeys ? "add" : "limit"
  if (known.serviceAccountId !== asked.serviceAccountId) return "taken"
  if (known.revokedAtMs !== null) return "revoked"
  return isSame(known.mailboxes, asked.mailboxes) ? "there" : "taken"
}

const isSame = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((one) => b.includes(one))

/**
 * Returns the patterns that the account may post to: its own and its allowed audiences.
 *
 * @param authAudience This service's own audience, which has no mailboxes.
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
