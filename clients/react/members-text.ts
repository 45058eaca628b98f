// The texts of the members, which their module alone loads.
import { type Amount, ending } from "./amount.ts"

export const englishMembers = {
  title: "Members",
  name: "Member",
  status: "Status",
  scopes: "Scopes",
  since: "Since",
  unnamed: "No name",
  place: "Member of",
  inApp: "The whole app",
  inTenant: "A tenant",
  inContext: "A context",
  defaultScopes: "default scopes",
  none: "No member here.",
  invite: "Invite",
  inviteTitle: "Invite a person",
  inviteAbout: "The code works once. Send it over a channel that you trust.",
  inviteScopes: "Scopes in addition to the app's default scopes, one per line",
  inviteHours: "Valid for hours",
  inviteCode: "Invitation code",
  suspend: "Suspend",
  suspendTitle: "Suspend this member?",
  suspendAbout: (name: string) => `“${name}” cannot enter, and their sessions here end. You can resume it later.`,
  resume: "Resume",
  remove: "Remove",
  removeTitle: "Remove this member?",
  removeAbout: (name: string) =>
    `“${name}” loses the membership, the ones inside of it, and every grant, token and delegation here. Joining again starts from nothing.`,
  approve: "Approve",
  reject: "Reject",
  rejectTitle: "Reject this request?",
  rejectAbout: (name: string) => `1 request ends, of “${name}”. They can ask again.`,
  sessionsEnd: (sessions: Amount) => `${ending([sessions, "session", "sessions"])} here.`,
  allEnd: (sessions: Amount, memberships: Amount, grants: Amount) =>
    `${ending(
      [sessions, "session", "sessions"],
      [memberships, "membership inside", "memberships inside"],
      [grants, "grant", "grants"],
    )} here.`,
}

export type MembersText = typeof englishMembers
