import { describe, test } from "vitest"
import { secrets, testEmailProject } from "../support/email-project-suite.ts"
import { startFakeIdpC } from "../support/idp-c.ts"
import { startSupabaseAuth } from "./supabase-auth.ts"

const clock = { nowMs: () => Date.now() }
const binary = process.env.SIGNET_SUPABASE_AUTH

describe.each(["ES256", "RS256", "HS256"] as const)("the stand-in for IDP_C, signing with %s", (signing) => {
  testEmailProject(() => startFakeIdpC({ clock, secrets, signing }))
})

if (binary === undefined) {
  test.skip("Supabase Auth does all that: SIGNET_SUPABASE_AUTH names no program", () => {})
} else {
  describe.each(["ES256", "HS256"] as const)("Supabase Auth, signing with %s", (signing) => {
    testEmailProject(async () => {
      const started = await startSupabaseAuth({ binary, signing })
      if (started === undefined) throw new Error("Supabase Auth needs PostgreSQL")
      return started
    })
  })
}
