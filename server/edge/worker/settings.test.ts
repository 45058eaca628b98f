import { readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { settings } from "./env.ts"
import { parseSettings } from "./settings.ts"

const key = (byte: number) => Buffer.alloc(32, byte).toString("base64")
const good = {
  SIGNET_ISSUER: "https://auth.example",
  SIGNET_ROOT_KEY: key(1),
  SIGNET_CLIENT_ID: "sva_1",
  SIGNET_CLIENT_SECRET: "the secret",
  SIGNET_RECEIPT_KEY: key(2),
  SIGNET_SEALING_KEY: key(3),
  SIGNET_PEPPERS: `2:${key(4)},1:${key(5)}`,
}
const problemsOf = (change: object): readonly string[] => {
  try {
    parseSettings({ ...good, ...change })
    return []
  } catch (error) {
    return error instanceof Error ? error.message.split("\n") : []
  }
}

test("defaults are safe: production, the auth service at its issuer, limits on, no origins", () => {
  const settings = parseSettings(good)
  expect(settings).toMatchObject({ authUrl: good.SIGNET_ISSUER, authAudience: "auth", messagingAudience: "auth" })
  expect(settings.limits).not.toBeNull()
  expect(settings.allowedOrigins.size).toBe(0)
  expect(settings.secrets.peppers.map(({ version }) => version)).toEqual([2, 1])
})

test("access tokens must name the auth service's audience, unless messaging has its own", () => {
  const own = { ...good, SIGNET_AUTH_AUDIENCE: "identity" }
  expect(parseSettings(own)).toMatchObject({ authAudience: "identity", messagingAudience: "identity" })
  const both = parseSettings({ ...own, SIGNET_MESSAGING_AUDIENCE: "chat", SIGNET_AUTH_URL: "https://auth.internal" })
  expect(both).toMatchObject({ authAudience: "identity", messagingAudience: "chat", authUrl: "https://auth.internal" })
})

test.each(Object.keys(good))("%s is required", (name) => {
  expect(problemsOf({ [name]: undefined })).toEqual([`${name} is missing.`])
  expect(problemsOf({ [name]: "  " })).toEqual([`${name} is missing.`])
})

describe("problems are reported without values", () => {
  test.each<[string, object, RegExp]>([
    ["an issuer without TLS", { SIGNET_ISSUER: "http://auth.example" }, /SIGNET_ISSUER must be https/],
    ["an issuer with a path", { SIGNET_ISSUER: "https://auth.example/" }, /must be an origin/],
    ["an auth service without TLS", { SIGNET_AUTH_URL: "http://10.0.0.1" }, /SIGNET_AUTH_URL must be https/],
    ["a short key", { SIGNET_RECEIPT_KEY: "c2VjcmV0" }, /^SIGNET_RECEIPT_KEY must be 32 bytes in base64\.$/],
    ["a short root", { SIGNET_ROOT_KEY: "c2VjcmV0" }, /^SIGNET_ROOT_KEY must be 32 bytes in base64\.$/],
    ["peppers of one version", { SIGNET_PEPPERS: `1:${key(4)},1:${key(5)}` }, /has a version twice/],
    [
      "a pepper whose version is no number",
      { SIGNET_PEPPERS: `1:${key(4)},two:${key(5)}` },
      /must look like 2:base64,1:base64/,
    ],
    ["a conversation above the limit", { SIGNET_CONVERSATION_LEAVES: "1001" }, /2 to 1000/],
    ["limits off in production", { SIGNET_LIMITS: "off" }, /only in the development profile/],
    ["invalid limits", { SIGNET_LIMITS: "{" }, /SIGNET_LIMITS: it is not JSON/],
    ["an origin with a path", { SIGNET_ALLOWED_ORIGINS: "https://app.example/x" }, /must be comma-separated origins/],
    ["an unknown profile", { SIGNET_PROFILE: "staging" }, /development or production/],
    ["a binding that is no text", { SIGNET_CLIENT_SECRET: { get: () => "" } }, /must be bound as a string/],
  ])("%s", (_, change, sentence) => {
    const problems = problemsOf(change)
    expect(problems.some((each) => sentence.test(each))).toBe(true)
    expect(problems.join()).not.toMatch(/c2VjcmV0|the secret|staging/)
  })
})

test("only development permits disabled limits and URLs without TLS", () => {
  const settings = parseSettings({
    ...good,
    SIGNET_PROFILE: "development",
    SIGNET_LIMITS: "off",
    SIGNET_ISSUER: "http://localhost:8080",
  })
  expect(settings.limits).toBeNull()
})

test("docs/reference/edge.md has exactly these settings", () => {
  const page = readFileSync(join(import.meta.dirname, "../../../docs/reference/edge.md"), "utf8")
  const rows = settings.map((each) => `| \`${each.name}\` | ${each.default} | ${each.what} |`)
  expect([...page.matchAll(/^\| `SIGNET_[A-Z_]+` \|.*$/gm)].map(([row]) => row)).toEqual(rows)
})
