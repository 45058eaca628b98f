import { plural } from "./frame.ts"

export const t = {
  counting: "Counting what ends…",
  uncounted: "What ends could not be counted.",
  sessions: (count: number, isMore: boolean) =>
    `${isMore ? "At least " : ""}${plural(count, "session ends", "sessions end")} in this app, and those in other apps.`,
  invitationTitle: "Revoke this invitation?",
  invitation: (id: string) => `1 invitation ends: ${id}. Its code is refused from now on. You can invite again.`,
  otherConnections: (count: number) =>
    count === 0
      ? "No other connection is active: nobody can sign in."
      : `${plural(count, "other connection stays", "other connections stay")} active.`,
}
