// The catalogue of the console: frame.ts has the frame, screens.ts the screens, why.ts the nine steps, and chat.ts the
// chat, each loaded with its pages. English is the only language now.
export const plural = (count: number, one: string, many: string): string => `${count} ${count === 1 ? one : many}`

/** `5 minutes` for 300. */
export function duration(seconds: number): string {
  const [unit, length] = units.find(([, of]) => seconds % of === 0) ?? (["second", 1] as const)
  return plural(seconds / length, unit, `${unit}s`)
}
const units = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
] as const

export const t = {
  product: "Signet",
  skip: "Skip to the content",
  menu: "Menu",
  more: "Show more",
  cancel: "Cancel",
  close: "Close",
  save: "Save",
  saved: "Saved.",
  choose: "Choose…",
  yes: "yes",
  no: "no",
  onePerLine: "One per line",
  unreachable: "The server does not answer. Reload the page in a moment.",
  nav: {
    administration: "Administration",
    understanding: "Understanding",
    more: "More",
    thisApp: "This app",
    here: { installation: "This app", app: "This app", tenant: "This tenant", context: "This context" },
    overview: "Overview",
    people: "People",
    apps: "Apps",
    tenant: "Tenant",
    services: "Service accounts",
    delegations: "Delegation",
    activity: "Activity",
    audit: "Audit",
    why: "Why?",
    limits: "Limits and lockouts",
    keys: "Signing keys",
    health: "Health",
    account: "Your account",
    chat: "Encrypted chat",
    components: "React components",
    reference: "API reference",
  },
  search: { label: "Search for a person or an id", placeholder: "Email address or id…" },
  nowhere: { title: "No such page", about: "The address leads to no page of the console." },
  welcome: {
    title: "Signet console",
    about: "Administer people, apps and services, and see why a call was denied.",
    administer: "Administer",
    developmentApp: "Notes, the development app",
    installation: "The installation: every app",
    as: "Sign in as",
    administrator: "Administrator, with every scope",
    member: "Member, with what the account has",
    development: "Development profile: the stand-in provider accepts any address without a password.",
    app: "App",
    choose: "Sign in to this app",
    inside: "Sign in to a tenant, or with an invitation",
    place: "Tenant or context",
    placeHint: "Empty for the app as a whole",
    noPlace: "Enter ten_…, ctx_… or ten_…/ctx_…, each id in full.",
    invitation: "Invitation code",
    invitationHint: "Only for the first sign-in",
  },
  refused: {
    scope: (scopes: readonly string[]) =>
      `Your membership does not have the scope ${scopes.join(" or ")}, which this page needs. An administrator who holds it can add it.`,
    level: {
      installation: "This page is for administrators of the installation.",
      app: "This page is for administrators of a whole app.",
      tenant: "This page is for administrators of a tenant.",
      context: "",
    },
    here: (place: string | undefined) =>
      place === undefined
        ? "You are signed in to one app."
        : `You are signed in to ${place}, and administer nothing else.`,
  },
}
