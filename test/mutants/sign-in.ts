import type { Mutant } from "./mutant.ts"

const rpc = "server/rpc/auth/sign-in"
const planning = "server/kernel/identity/first-login.ts"
const linking = "server/kernel/identity/magic-link.ts"
const links = "server/kernel/identity/magic-link.test.ts"
const takeover = "test/attack/takeover.test.ts"
const limits = "test/story/email-limits.test.ts"
const devices = "test/attack/device-tokens.test.ts"
const notifications = "test/story/idp-b-notifications.test.ts"

/** Mutants of sign-in: who is admitted, and the limits on attempts for an address. */
export const signInMutants: readonly Mutant[] = [
  {
    fault: "an account that was unlinked is one like others",
    file: planning,
    from: 'if (account?.status === "UNLINKED") return refuse("SIGNUP_DISABLED")',
    to: "",
    test: takeover,
    name: "takes over no unlinked account, neither by a sign-in nor by its address",
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
    fault: "a link leads to what begins like an address of the app",
    file: `${rpc}/methods.ts`,
    from: "!app.settings.allowedRedirectUris.includes(redirectUri)",
    to: "!app.settings.allowedRedirectUris.some((allowed) => redirectUri.startsWith(allowed))",
    test: takeover,
    name: "a redirect to",
  },
  {
    fault: "a client is looked at before the provider is asked, and not after",
    file: `${rpc}/facts.ts`,
    from: "client: { ...client, status: clientStatus }",
    to: "client",
    test: takeover,
    name: "a client that is disabled during a sign-in creates no session",
  },
  {
    fault: "a planted password grows",
    file: "server/providers/idp-c.ts",
    from: "isFirstConfirmed(claims, session.user)",
    to: "isFirstConfirmed({}, session.user)",
    test: takeover,
    name: "a password that an attacker set at IDP_C is invalid once the owner's link creates the account",
  },
  {
    fault: "a planted password that could not be ended is taken",
    file: `${rpc}/held-password.ts`,
    from: "if (isHeld && (await replace())) await transaction",
    to: "if (isHeld && ((await replace()) || true)) await transaction",
    test: takeover,
    name: "a password that could not be invalidated is refused until a link has invalidated it",
  },
  {
    fault: "a device token of another address or app is taken",
    file: `${rpc}/device-token.ts`,
    from: "return isOurs ? token.id : undefined",
    to: "return isOurs || known.length > 0 ? token.id : undefined",
    test: devices,
    name: "a token for another address or app, by another key, expired or altered has no effect",
  },
  {
    fault: "a device token lives for ever",
    file: "server/kernel/identity/device-token.ts",
    from: "return expiresAt * 1_000 > nowMs ?",
    to: "return expiresAt > 0 || nowMs > 0 ?",
    test: devices,
    name: "a token for another address or app, by another key, expired or altered has no effect",
  },
  {
    fault: "a stolen device token guesses for ever",
    file: `${rpc}/guesses.ts`,
    from: `if ((await limited(deps, context, "login_email", ofDevice)) === undefined) return ofDevice`,
    to: "if (ip !== undefined) return ofDevice",
    test: devices,
    name: "a stolen token allows few guesses an hour from all networks together, and locks nobody out",
  },
  {
    fault: "what is left for strangers tells of the owner's sign-ins",
    file: `${rpc}/guesses.ts`,
    from: `    await giveBack(deps, "login_email", counted)
    return done`,
    to: "    return done",
    test: devices,
    name: "a locked address gets the same answer, whether known or not, from any network, with a right or wrong password",
  },
  {
    fault: "the time to come back tells when others called",
    file: "server/rpc/limit.ts",
    from: "if (name !== null) return untilMs",
    to: "if (name !== null || untilMs > 0) return untilMs",
    test: devices,
    name: "a locked address gets the same answer, whether known or not, from any network, with a right or wrong password",
  },
  {
    fault: "capitals make another address of it",
    file: planning,
    from: 'return Array.from(email.normalize("NFKC").trim(), lowerCased).join("")',
    to: 'return email.normalize("NFKC").trim()',
    test: limits,
    name: "another spelling of the email address is the same address",
  },
  {
    fault: "what is left for an address is told",
    file: "server/kernel/limits/policy.ts",
    from: 'new Set(["email", "email_day", "token"])',
    to: "new Set([])",
    test: limits,
    name: "no answer reveals the remaining attempts for an email",
  },
  {
    fault: "a notification counts again",
    file: "server/rpc/provider-notification/provider-notification-service.ts",
    from: "if (!(await tx.idTokenUses.use(replayKey, expiresAtMs))) return",
    to: "await tx.idTokenUses.use(replayKey, expiresAtMs)",
    test: notifications,
    name: "is applied once, so that a replay cannot end later sessions",
  },
  {
    fault: "a notification lifts a block",
    file: "server/kernel/identity/provider-notification.ts",
    from: 'if (account.status !== "LINKED") {',
    to: 'if (account.status === "UNLINKED") {',
    test: notifications,
    name: "lifts no block, and deletes the provider's refresh token",
  },
  {
    fault: "a connection that is unknown is the default",
    file: "server/kernel/identity/connection.ts",
    from: "const named = connections.find(({ connection }) => connection === name)",
    to: "const named = connections.find(({ connection }) => connection === name) ?? connections.find((one) => one.connection === '')",
    test: "server/kernel/identity/connection.test.ts",
    name: "is refused when the name is unknown, even with a default, and what could be named is listed",
    row: '["the name is unknown, even with a default"',
  },
  {
    fault: "an app's administrator names addresses beside a preset",
    file: "server/rpc/admin/provider-client/new-provider-client.ts",
    from: "if (named !== undefined)",
    to: "if (false)",
    test: "test/story/connections.test.ts",
    name: "an app's administrator adds a well-known provider by its preset, without an address",
  },
  {
    fault: "connections that are switched off are listed",
    file: "server/rpc/auth/sign-in/options.ts",
    from: "return offered(connections).map(optionOf)",
    to: "return connections.map(optionOf)",
    test: "test/story/connections.test.ts",
    name: "has the data for a page and a client, and no secret",
  },
]
