import type { Mutant } from "./mutant.ts"

const rpc = "server/rpc/sign-in"
const planning = "server/kernel/identity/first-login.ts"
const plans = "server/kernel/identity/first-login.test.ts"
const linking = "server/kernel/identity/magic-link.ts"
const links = "server/kernel/identity/magic-link.test.ts"
const takeover = "test/attack/takeover.test.ts"
const limits = "test/story/email-limits.test.ts"
const notifications = "test/story/idp-b-notifications.test.ts"

/** Faults in who is let in, and in what strangers may do with an address. */
export const signInMutants: readonly Mutant[] = [
  {
    fault: "an account that was unlinked is one like others",
    file: planning,
    from: 'if (account?.status === "UNLINKED") return refuse("SIGNUP_DISABLED")',
    to: "",
    test: takeover,
    name: "adopts no account that was unlinked: not by signing in, and not by its address",
  },
  {
    fault: "an invitation lasts",
    file: planning,
    from: "nowMs < invitation.expiresAtMs &&",
    to: "",
    test: plans,
    name: "one that is out of time too",
    row: '["out of time", { expiresAtMs: 1_000 }]',
  },
  {
    fault: "anybody takes an invitation that names somebody",
    file: planning,
    from: "(invitation.principalId === null || invitation.principalId === principal?.id)",
    to: "true",
    test: plans,
    name: "one that is somebody else's too",
    row: `["somebody else's", {`,
  },
  {
    fault: "an invitation lifts a suspension",
    file: planning,
    from: 'facts.invitedMembership?.status === "SUSPENDED" || ',
    to: "",
    test: plans,
    name: "nor the suspension of the place that it is for",
  },
  {
    fault: "whoever is suspended in a tenant comes in by a context",
    file: planning,
    from: " || facts.isSuspendedAround",
    to: "",
    test: plans,
    name: "who is suspended in the tenant is in none of its contexts",
  },
  {
    fault: "a page uses a link of its own app in another",
    file: linking,
    from: "expiresAtMs >= own.expiresAtMs - heldBackMs",
    to: "expiresAtMs > own.expiresAtMs",
    test: links,
    name: "so is the link of who asked there and then here at once",
  },
  {
    fault: "no verifier is as good as the right one",
    file: linking,
    from: "newest !== undefined && isAsked(newest, null)",
    to: "newest?.appId === app.id",
    test: links,
    name: "none is no way around a challenge",
  },
  {
    fault: "a link that another app asked for is this app's",
    file: linking,
    from: "own.codeChallenge === codeChallenge && !mayBeElsewheres(own)",
    to: "own.codeChallenge === codeChallenge",
    test: links,
    name: "also for who shows a verifier",
  },
  {
    fault: "a link leads to what begins like an address of the app",
    file: `${rpc}/methods.ts`,
    from: "!app.settings.allowedRedirectUris.includes(redirectUri)",
    to: "!app.settings.allowedRedirectUris.some((allowed) => redirectUri.startsWith(allowed))",
    test: takeover,
    name: "is not led to",
  },
  {
    fault: "a client is looked at before the provider is asked, and not after",
    file: `${rpc}/facts.ts`,
    from: "client: { ...client, status: clientStatus }",
    to: "client",
    test: takeover,
    name: "one that is switched off while it signs in signs nobody in either",
  },
  {
    fault: "a planted password grows",
    file: "server/providers/idp-c.ts",
    from: "isFirstConfirmed(claims, session.user)",
    to: "isFirstConfirmed({}, session.user)",
    test: takeover,
    name: "a password that was planted at IDP_C has ended when the owner's link makes the account",
  },
  {
    fault: "a planted password that could not be ended is taken",
    file: `${rpc}/held-password.ts`,
    from: "if (isHeld && (await replace())) await transaction",
    to: "if (isHeld && ((await replace()) || true)) await transaction",
    test: takeover,
    name: "one that could not be ended is taken from nobody, until a link has ended it",
  },
  {
    fault: "a stranger's guesses hold the owner up everywhere",
    file: "server/rpc/known-networks.ts",
    from: ".lockedUntilMs !== null",
    to: ".lockedUntilMs === undefined",
    test: limits,
    name: "fifty guesses an hour from everywhere are all, and the owner signs in where they did before",
  },
  {
    fault: "capitals make another address of it",
    file: planning,
    from: 'return email.normalize("NFKC").trim().toLowerCase()',
    to: 'return email.normalize("NFKC").trim()',
    test: limits,
    name: "another way of writing the address is no other address",
  },
  {
    fault: "what is left for an address is told",
    file: "server/kernel/limits/policy.ts",
    from: 'new Set(["email", "email_day", "token"])',
    to: "new Set([])",
    test: limits,
    name: "what is left for an email is told to nobody",
  },
  {
    fault: "a notification counts again",
    file: "server/rpc/provider-notification-service.ts",
    from: "if (!(await tx.idTokenUses.use(use, expiresAtMs))) return",
    to: "await tx.idTokenUses.use(use, expiresAtMs)",
    test: notifications,
    name: "counts once, so that nobody ends with it what began later",
  },
  {
    fault: "a notification lifts a block",
    file: "server/kernel/identity/provider-notification.ts",
    from: 'if (account.status !== "LINKED") {',
    to: 'if (account.status === "UNLINKED") {',
    test: notifications,
    name: "lifts no block, and takes the provider's refresh token along",
  },
]
