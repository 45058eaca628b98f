// The things that a destructive action ends, with their number.
import type { Amount } from "@signet/react/core"
import { plural } from "./frame.ts"

const ends = (one: string, many: string) => (of: Amount) =>
  `${of.isMore ? "At least " : ""}${plural(of.count, one, many)}.`

export const t = {
  memberships: ends("active membership is affected", "active memberships are affected"),
  tenants: ends("tenant ends", "tenants end"),
  contexts: ends("context ends", "contexts end"),
  grants: ends("active grant ends", "active grants end"),
  sessions: ends(
    "session ends in this app, and those in other apps",
    "sessions end in this app, and those in other apps",
  ),
  refusedSessions: ends("session in this app is refused until then", "sessions in this app are refused until then"),
  invitationTitle: "Revoke this invitation?",
  invitation: (id: string) => `1 invitation ends: ${id}. Its code is refused from now on. You can invite again.`,
  otherConnections: (count: number) =>
    count === 0
      ? "No other connection is active: nobody can sign in."
      : `${plural(count, "other connection stays", "other connections stay")} active.`,
  otherSecrets: (count: number) =>
    count === 0
      ? "1 secret ends. No other secret is active: the service cannot obtain tokens."
      : `1 secret ends. ${plural(count, "other secret stays", "other secrets stay")} active.`,
  grant: (role: string, where: string) =>
    `1 grant ends: the principal loses the role ${role} for ${where}. Tokens that are older become stale and are refreshed.`,
  policy: (actor: string) =>
    `1 policy ends: ${actor} can no longer act for anybody under it. Every standing delegation under it ends too. The service lists a delegation to its person alone, so this page cannot count them. Tokens expire within five minutes.`,
  delegation: (actor: string) =>
    `1 delegation ends: ${actor} can no longer act for you, and the tokens that it holds are revoked.`,
}
