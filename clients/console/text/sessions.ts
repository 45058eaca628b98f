import { plural } from "./frame.ts"

export const t = {
  none: "No active session where you administer.",
  device: "Device",
  thisOne: "this session",
  unnamed: "Unnamed device",
  place: "Signed in to",
  wholeApp: "The whole app",
  method: "Method",
  started: "Signed in",
  lastUsed: "Last refresh",
  expires: "Idle until",
  end: "Revoke",
  endTitle: "Revoke this session?",
  endAbout: (name: string) => `1 session ends: “${name}” is signed out. Its access tokens are rejected from now on.`,
  endAll: "Revoke all",
  endAllTitle: "Revoke all sessions of this person?",
  endAllAbout: (count: number, hasMore: boolean) =>
    `${hasMore ? "At least " : ""}${plural(count, "session ends", "sessions end")} where you administer. Sessions elsewhere continue, and the person can sign in again.`,
}
