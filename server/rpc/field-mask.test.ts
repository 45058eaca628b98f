import { create, type MessageInitShape } from "@bufbuild/protobuf"
import { Refused } from "@signet/kernel/errors"
import { AppSchema, PlaceStatus } from "@signet/proto/auth/v1/apps"
import { ContextSchema } from "@signet/proto/auth/v1/contexts"
import { ProviderClientSchema } from "@signet/proto/auth/v1/provider_clients"
import { describe, expect, test } from "vitest"
import { refuseClosed } from "./field-behavior.ts"
import { changed } from "./field-mask.ts"

type AppInit = MessageInitShape<typeof AppSchema>
const current = create(AppSchema, {
  id: "app_1",
  name: "Notes",
  status: PlaceStatus.ACTIVE,
  audiences: ["svc-notes"],
  settings: {
    signupEnabled: true,
    sessionAbsoluteSeconds: 900,
    retryWindowSeconds: 60,
    allowedOrigins: ["https://a.b"],
  },
})
const change = (values: AppInit, paths: string[] = []) =>
  changed(current, {
    desc: AppSchema,
    values: create(AppSchema, values),
    mask: { $typeName: "google.protobuf.FieldMask", paths },
    path: "app",
  })
const refusalOf = (work: () => unknown): string => {
  try {
    work()
  } catch (error) {
    if (error instanceof Refused) return `${error.reason} ${error.metadata.field}`
    throw error
  }
  return "none"
}

describe("a change", () => {
  test("without a mask takes the set fields", () => {
    const { message, paths } = change({ name: "Park", settings: { sessionAbsoluteSeconds: 300 } })
    expect(message).toEqual({
      ...current,
      name: "Park",
      settings: { ...current.settings, sessionAbsoluteSeconds: 300 },
    })
    expect([...paths]).toEqual(["name", "settings.session_absolute_seconds"])
    expect(current.name).toBe("Notes")
  })

  test("with a mask takes the named fields, set or not", () => {
    const { message } = change({ name: "Park" }, ["audiences", "settings.signup_enabled"])
    expect(message.name).toBe("Notes")
    expect(message.audiences).toEqual([])
    expect(message.settings).toEqual({ ...current.settings, signupEnabled: false })
  })

  test("of a whole message replaces it", () => {
    const { message } = change({ settings: { signupEnabled: false, allowedOrigins: ["https://c.d"] } }, ["settings"])
    expect(message.settings).toMatchObject({ allowedOrigins: ["https://c.d"], sessionAbsoluteSeconds: 0 })
    expect(message.settings?.retryWindowSeconds).toBeUndefined()
    expect(change({}, ["settings"]).message.settings).toBeUndefined()
  })

  test("of a field in an absent message creates the message", () => {
    const bare = create(AppSchema, { name: "Notes" })
    const values = create(AppSchema, { settings: { signupEnabled: true } })
    const { message } = changed(bare, { desc: AppSchema, values, mask: undefined, path: "app" })
    expect(message.settings?.signupEnabled).toBe(true)
  })

  test("distinguishes an explicit zero from an absent one", () => {
    expect(change({ settings: { retryWindowSeconds: 0 } }).message.settings?.retryWindowSeconds).toBe(0)
  })

  test("of lists does not share them", () => {
    const values = create(AppSchema, { audiences: ["svc-park"] })
    const { message } = changed(current, { desc: AppSchema, values, mask: undefined, path: "app" })
    values.audiences.push("svc-late")
    message.audiences.push("svc-later")
    expect(current.audiences).toEqual(["svc-notes"])
  })

  test.each([
    "*",
    "",
    "name.x",
    "nothing",
    "settings.",
    "settings.nothing",
    ".name",
    "scopes.key",
    "audiences.0",
    "settings.allowed_origins.0",
    "signupEnabled",
    "__proto__",
    "constructor",
    "toString",
    "name ",
  ])("has no path %j", (path) => {
    expect(refusalOf(() => change({ name: "Park" }, [path]))).toBe("INVALID_FIELD update_mask")
  })

  test.each<[string, AppInit, string[], string]>([
    ["names a field that the service sets", { name: "Park" }, ["status"], "app.status"],
    ["sets a field that the service sets", { id: "app_2" }, [], "app.id"],
    [
      "sets a field that the service sets, outside the mask",
      { name: "Park", status: PlaceStatus.ARCHIVED },
      ["name"],
      "app.status",
    ],
    ["makes itself the installation's", { installation: true }, [], "app.installation"],
    ["names a part of a field that the service sets", {}, ["created_at.seconds"], "app.created_at"],
  ])("is refused that %s", (_, values, paths, field) => {
    expect(refusalOf(() => change(values, paths))).toBe(`OUTPUT_ONLY_FIELD ${field}`)
  })
})

describe("an immutable field", () => {
  test("is accepted at creation, and never afterwards", () => {
    const context = create(ContextSchema, { tenantId: "ten_1", type: "team" })
    expect(refusalOf(() => refuseClosed(ContextSchema, context, "create", "context"))).toBe("none")
    expect(refusalOf(() => refuseClosed(ContextSchema, context, "update", "context"))).toBe(
      "OUTPUT_ONLY_FIELD context.tenant_id",
    )
    const client = create(ProviderClientSchema, { clientSecret: "s" })
    expect(refusalOf(() => refuseClosed(ProviderClientSchema, client, "update", "client"))).toBe("none")
  })
})
