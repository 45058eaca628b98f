import { describe, expect, test } from "vitest"
import type { AppScope } from "../records.ts"
import { appScopesProblem, memberScopesProblem, scopePermissionsProblem } from "./scopes.ts"

const scope = (key: string, audience = "svc-notes", isDefault = false): AppScope => ({ key, audience, isDefault })
const notes = scope("notes.read")
const introspect = scope("auth.introspect", "auth")

test("a scope can only name permissions of its own app", () => {
  const known = new Set(["notes.note.edit"])
  const naming = (...permissions: string[]) => [{ ...notes, permissions }, introspect]
  expect(scopePermissionsProblem(naming("notes.note.edit"), known)).toBeUndefined()
  expect(scopePermissionsProblem([notes], known)).toBeUndefined()
  expect(scopePermissionsProblem(naming("notes.note.edit", "notes.note.drop"), known)?.reason).toBe("INVALID_FIELD")
})

describe("the scopes of an app", () => {
  const grounds = {
    before: [notes, introspect],
    audiences: ["svc-notes"],
    authAudience: "auth",
    isInstallationAdmin: false,
  }
  test.each<[string, AppScope[], string | undefined]>([
    ["stay", [notes, introspect], undefined],
    ["are in another order", [introspect, notes], undefined],
    ["are one more", [notes, introspect, scope("notes.write")], undefined],
    ["are one less", [introspect], undefined],
    ["are of an audience that is not the app's", [introspect, scope("notes.read", "svc-other")], "INVALID_FIELD"],
    ["have a key twice", [notes, introspect, scope("notes.read", "svc-notes", true)], "INVALID_FIELD"],
    ["are this service's for another audience", [notes, scope("auth.introspect")], "INVALID_FIELD"],
    ["are one more of this service's", [notes, introspect, scope("auth.apps.write", "auth")], "SCOPE_NOT_GRANTED"],
    ["are one less of this service's", [notes], "SCOPE_NOT_GRANTED"],
    ["are the app's own, for this service", [notes, introspect, scope("notes.self", "auth")], undefined],
    ["copy messages", [notes, introspect, scope("messaging.transfer")], "SCOPE_NOT_GRANTED"],
    [
      "let everybody copy messages",
      [notes, introspect, scope("messaging.transfer", "svc-notes", true)],
      "INVALID_FIELD",
    ],
    ["let this service's do more", [notes, { ...introspect, permissions: ["notes.note.edit"] }], "SCOPE_NOT_GRANTED"],
    ["give this service's to everybody", [notes, scope("auth.introspect", "auth", true)], "SCOPE_NOT_GRANTED"],
    ["make everybody an administrator", [notes, introspect, scope("auth.apps.write", "auth", true)], "INVALID_FIELD"],
  ])("%s", (_, asked, expected) => {
    expect(appScopesProblem(asked, grounds)?.reason).toBe(expected)
    const byTheInstallation = expected === "SCOPE_NOT_GRANTED" ? undefined : expected
    expect(appScopesProblem(asked, { ...grounds, isInstallationAdmin: true })?.reason).toBe(byTheInstallation)
  })
})

test("an administration scope that was a default scope may stay one", () => {
  const admin = scope("auth.apps.write", "auth", true)
  const grounds = { before: [notes, admin], audiences: ["svc-notes"], authAudience: "auth", isInstallationAdmin: false }
  expect(appScopesProblem([notes, admin, scope("notes.write")], grounds)).toBeUndefined()
  const before = [notes, { ...admin, isDefault: false }]
  const given = appScopesProblem([notes, admin], { ...grounds, before, isInstallationAdmin: true })
  expect(given?.reason).toBe("INVALID_FIELD")
})

describe("the scopes of a member", () => {
  const app = { scopes: [notes, introspect, scope("auth.apps.write", "auth")] }
  test.each<[string, string[], string[], string[], string | undefined]>([
    ["are the app's", ["notes.read"], [], [], undefined],
    ["are of no app", ["notes.burn"], [], [], "INVALID_FIELD"],
    ["are what the caller holds", ["auth.apps.write"], [], ["auth.apps.write"], undefined],
    ["are more than the caller holds", ["auth.apps.write"], [], ["auth.introspect"], "SCOPE_NOT_GRANTED"],
    ["were there before", ["auth.apps.write", "notes.gone"], ["auth.apps.write", "notes.gone"], [], undefined],
    ["are fewer", [], ["auth.apps.write"], [], undefined],
    ["are names that every object has", ["constructor"], [], ["constructor"], "INVALID_FIELD"],
  ])("%s", (_, scopes, before, held, expected) => {
    expect(memberScopesProblem(app, scopes, { before, held: new Set(held) })?.reason).toBe(expected)
  })
})

test("a caller who may remove members may add the scopes for their devices, and another may not", () => {
  const app = { scopes: [scope("messaging.devices.read")] }
  const problem = (held: readonly string[]) =>
    memberScopesProblem(app, ["messaging.devices.read"], { before: [], held: new Set(held) })?.reason
  expect([problem(["auth.members.write"]), problem(["auth.members.read"])]).toEqual([undefined, "SCOPE_NOT_GRANTED"])
})
