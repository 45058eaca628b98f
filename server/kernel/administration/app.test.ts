import { describe, expect, test } from "vitest"
import { app } from "../testing/records.ts"
import { type AppValues, appProblem, settingsOf } from "./app.ts"

const grounds = { before: null, authAudience: "auth", isInstallationAdmin: true, isLoopbackAllowed: false }
const { settings } = app

describe("an app", () => {
  test.each<[string, Partial<AppValues>, string | undefined]>([
    ["is valid", {}, undefined],
    ["has no name", { name: "  " }, "app.name"],
    ["calls this service its own", { audiences: ["svc-notes", "auth"] }, "app.audiences"],
    ["loses the audience of its scopes", { audiences: [] }, "app.scopes"],
    ["lets any page in", { settings: { ...settings, allowedOrigins: ["*"] } }, "app.settings.allowed_origins"],
    [
      "lets pages in that anybody can change",
      { settings: { ...settings, allowedOrigins: ["http://app.example"] } },
      "app.settings.allowed_origins",
    ],
    [
      "leads to a script",
      { settings: { ...settings, allowedRedirectUris: ["javascript:alert(1)"] } },
      "app.settings.allowed_redirect_uris",
    ],
  ])("%s", (_, change, field) => {
    expect(appProblem({ ...app, ...change }, grounds)?.field).toBe(field)
  })

  test("gets audiences from an installation administrator and can drop them itself", () => {
    const byItsOwn = { ...grounds, before: app, isInstallationAdmin: false }
    const more = { ...app, audiences: [...app.audiences, "svc-of-another-app"] }
    expect(appProblem(more, byItsOwn)).toMatchObject({ reason: "OUTPUT_ONLY_FIELD", field: "app.audiences" })
    expect(appProblem(more, { ...byItsOwn, isInstallationAdmin: true })).toBeUndefined()
    const fewer = { ...app, audiences: [], scopes: app.scopes.filter(({ audience }) => audience === "auth") }
    expect(appProblem(fewer, byItsOwn)).toBeUndefined()
  })

  test("gets managesIdentity from an installation administrator only", () => {
    const before = { ...app, settings: { ...settings, managesIdentity: false } }
    const byItsOwn = { ...grounds, before, isInstallationAdmin: false }
    const trusted = { reason: "OUTPUT_ONLY_FIELD", field: "app.settings.manages_identity" }
    expect(appProblem(app, byItsOwn)).toMatchObject(trusted)
    expect(appProblem(app, { ...byItsOwn, isInstallationAdmin: true })).toBeUndefined()
    expect(appProblem(before, byItsOwn)).toBeUndefined()
  })

  test("keeps addresses that are no longer allowed for new apps", () => {
    const before = { ...app, settings: { ...settings, allowedOrigins: ["http://localhost:5173"] } }
    expect(appProblem(before, { ...grounds, before })).toBeUndefined()
    expect(appProblem(before, grounds)?.field).toBe("app.settings.allowed_origins")
    expect(appProblem(before, { ...grounds, isLoopbackAllowed: true })).toBeUndefined()
    const installation = { ...app, audiences: [...app.audiences, "auth"] }
    expect(appProblem(installation, { ...grounds, before: installation })).toBeUndefined()
  })

  test("gets default lifetimes, and a retry window of 0 disables retries", () => {
    const none = { sessionIdleSecondsWeb: 0, sessionIdleSecondsNative: 0, sessionAbsoluteSeconds: 0 }
    expect(settingsOf({ ...settings, ...none, retryWindowSeconds: undefined })).toMatchObject({
      sessionIdleSecondsWeb: 1_209_600,
      sessionIdleSecondsNative: 2_592_000,
      sessionAbsoluteSeconds: 7_776_000,
      retryWindowSeconds: 600,
    })
    const own = { sessionIdleSecondsWeb: 61, sessionIdleSecondsNative: 62, sessionAbsoluteSeconds: 63 }
    expect(settingsOf({ ...settings, ...own })).toMatchObject(own)
    expect(settingsOf({ ...settings, retryWindowSeconds: 0 })).toEqual({ ...settings, retryWindowSeconds: 0 })
  })
})
