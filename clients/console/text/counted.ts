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
  sessions: ends("session ends, in all apps", "sessions end, in all apps"),
  pats: ends("personal access token ends", "personal access tokens end"),
  secrets: ends("secret or key ends", "secrets and keys end"),
  sessionsOfConnection: ends("session that it began ends", "sessions that it began end"),
  refusedSessions: ends("session is refused until then, in all apps", "sessions are refused until then, in all apps"),
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
    `1 policy ends: ${actor} can no longer act for anybody under it. Tokens expire within five minutes.`,
  standing: ends("standing delegation under it ends", "standing delegations under it end"),
  delegationOfOther: (actor: string) =>
    `1 delegation ends: ${actor} can no longer act for this person, and the tokens that it holds are revoked. The person can allow it again while the policy is active.`,
  delegation: (actor: string) =>
    `1 delegation ends: ${actor} can no longer act for you, and the tokens that it holds are revoked.`,
}
