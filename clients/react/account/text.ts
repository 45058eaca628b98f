// The texts of the account, which its module alone loads.
import { type Amount, ending } from "../amount.ts"

export const englishAccount = {
  title: "Your account",
  sessions: {
    title: "Sessions",
    about: "Each row is one sign-in on one device. Ending it signs that device out.",
    device: "Device",
    method: "Signed in with",
    started: "Since",
    lastUsed: "Last used",
    thisOne: "this device",
    unnamed: "Unnamed device",
    revoke: "End session",
    revokeTitle: "End this session?",
    revokeAbout: (device: string) => `1 session ends: “${device}” is signed out. Personal access tokens stay.`,
    none: "No session is active.",
  },
  linked: {
    title: "Linked accounts",
    about: "Accounts that can sign you in.",
    provider: "Provider",
    address: "Address",
    status: "Status",
    unlink: "Unlink",
    unlinkTitle: "Unlink this account?",
    unlinkAbout: (name: string, others: number) =>
      `“${name}” can no longer sign you in, and the sessions that it began end. Other accounts that can: ${others}.`,
    ends: (sessions: Amount) => `${ending([sessions, "session", "sessions"])}, in all apps.`,
  },
  pats: {
    title: "Personal access tokens",
    about: "For your own programs. A token never gives more than you hold.",
    name: "Name",
    scopes: "Scopes",
    expires: "Expires",
    lastUsed: "Last used",
    never: "never",
    status: "Status",
    create: "Create token",
    createTitle: "Create a personal access token",
    days: "Lifetime in days",
    created: "Your new token",
    revoke: "Revoke",
    revokeTitle: "Revoke this token?",
    revokeAbout: (name: string) => `1 token ends: programs that use “${name}” are refused. This cannot be undone.`,
    none: "No token yet.",
  },
  data: {
    title: "Your data",
    about: "An export has everything that the service stores about you, without secrets.",
    export: "Export as JSON",
    delete: "Delete account",
    deleteTitle: "Delete this account?",
    deleteAbout:
      "Every session and token ends at once, in all apps. After 14 days everything is erased. Until then a sign-in can cancel it.",
    ends: (sessions: Amount, tokens: Amount) =>
      `${ending([sessions, "session", "sessions"], [tokens, "personal access token", "personal access tokens"])}, in all apps.`,
    deleteWord: "delete",
    deleted: (date: string) => `The account will be erased on ${date}.`,
  },
}

export type AccountText = typeof englishAccount
