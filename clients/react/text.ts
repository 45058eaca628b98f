// The texts of the components. A translation is another object of this type.
import type { AccountText } from "./account/text.ts"
import { type Amount, ending } from "./amount.ts"
import { englishFailures } from "./failure-texts.ts"
import type { MembersText } from "./members-text.ts"

export const english = {
  failures: englishFailures,
  counting: "Counting what ends…",
  uncounted: "What ends could not be counted.",
  retryIn: (seconds: number) => `You can try again in ${seconds} s.`,
  retry: "Try again",
  loading: "Loading…",
  cancel: "Cancel",
  close: "Close",
  more: "Show more",
  restart: "First page",
  copy: "Copy",
  copied: "Copied",
  shownOnce: "This is shown once. Store it now: nobody can show it again.",
  confirm: {
    typeToConfirm: (word: string) => `Type “${word}” to confirm`,
  },
  signIn: {
    with: (name: string) => `Sign in with ${name}`,
    none: "This app has no way to sign in from a page.",
    working: "Leaving for the provider…",
  },
  user: {
    manage: "Manage account",
    signOut: "Sign out",
    signOutEverywhere: "Sign out everywhere",
    everywhereTitle: "Sign out everywhere?",
    everywhereAbout: "Every device and browser is signed out, this one as well.",
    sessionsEnd: (sessions: Amount) => `${ending([sessions, "session", "sessions"])} in this app.`,
  },
}

export type Text = typeof english & {
  /** Default: `englishAccount`. A page without the account does not load it. */
  readonly account?: AccountText
  /** Default: `englishMembers`. */
  readonly members?: MembersText
}
