import { describe, test } from "vitest"
import { secrets, testClosedProject, testEmailProject } from "../support/email-project-suite.ts"
import { startFakeIdpC } from "../support/idp-c.ts"
import { startSupabaseAuth } from "./supabase-auth.ts"

const clock = { nowMs: () => Date.now() }
const binary = process.env.SIGNET_SUPABASE_AUTH

describe.each(["ES256", "RS256", "HS256"] as const)("the stand-in for IDP_C, signing with %s", (signing) => {
  testEmailProject(() => startFakeIdpC({ clock, secrets, signing }))
})

describe("the stand-in for IDP_C, closed", () => {
  testClosedProject(async () => {
    const idp = await startFakeIdpC({ clock, secrets })
    Object.assign(idp.project.settings, { isSignupDisabled: true, mailsLeft: 1 })
    return idp
  })
})

if (binary === undefined) {
  test.skip("Supabase Auth does all that: SIGNET_SUPABASE_AUTH names no program", () => {})
} else {
  const start = async (signing: "ES256" | "HS256", settings: Record<string, string> = {}) => {
    const started = await startSupabaseAuth({ binary, signing, settings })
    if (started === undefined) throw new Error("Supabase Auth needs PostgreSQL")
    return started
  }
  describe.each(["ES256", "HS256"] as const)("Supabase Auth, signing with %s", (signing) => {
    testEmailProject(() => start(signing))
  })
  describe("Supabase Auth, closed", () => {
    testClosedProject(() => start("ES256", { GOTRUE_DISABLE_SIGNUP: "true", GOTRUE_SMTP_MAX_FREQUENCY: "60s" }))
  })
}
