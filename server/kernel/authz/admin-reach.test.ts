import { describe, expect, test } from "vitest"
import type { Place } from "../administration/ports.ts"
import { newId } from "../ids.ts"
import { administersInstallation, isInside, reachMismatch } from "./admin-reach.ts"

const bytes = (byte: number) => new Uint8Array(10).fill(byte)
const [app, otherApp] = [newId("app", 1, bytes(1)), newId("app", 1, bytes(2))]
const [tenant, otherTenant] = [newId("ten", 1, bytes(1)), newId("ten", 1, bytes(2))]
const [project, otherProject] = [newId("ctx", 1, bytes(1)), newId("ctx", 1, bytes(2))]
const at = (appId = app, tenantId: Place["tenantId"] = null, contextId: Place["contextId"] = null): Place => ({
  appId,
  tenantId,
  contextId,
})

describe("an administrator", () => {
  test.each<[string, Place, Place, ReturnType<typeof reachMismatch>]>([
    ["of an app reaches the app", at(), at(), undefined],
    ["of an app reaches its tenants", at(), at(app, tenant), undefined],
    ["of an app reaches its contexts", at(), at(app, tenant, project), undefined],
    ["of an app reaches no other app", at(), at(otherApp), "APP_MISMATCH"],
    ["of a tenant reaches the tenant", at(app, tenant), at(app, tenant), undefined],
    ["of a tenant reaches its contexts", at(app, tenant), at(app, tenant, project), undefined],
    ["of a tenant does not reach the app", at(app, tenant), at(), "TENANT_MISMATCH"],
    ["of a tenant reaches no other tenant", at(app, tenant), at(app, otherTenant), "TENANT_MISMATCH"],
    ["of a tenant reaches no context of the app itself", at(app, tenant), at(app, null, project), "TENANT_MISMATCH"],
    ["of a tenant reaches no other app's", at(app, tenant), at(otherApp, tenant), "APP_MISMATCH"],
    ["of a context reaches the context", at(app, tenant, project), at(app, tenant, project), undefined],
    ["of a context does not reach its tenant", at(app, tenant, project), at(app, tenant), "CONTEXT_MISMATCH"],
    ["of a context reaches no other", at(app, tenant, project), at(app, tenant, otherProject), "CONTEXT_MISMATCH"],
    ["of an app's own context reaches it", at(app, null, project), at(app, null, project), undefined],
  ])("%s", (_, caller, place, expected) => {
    expect(reachMismatch(caller, false, place)).toBe(expected)
    expect(reachMismatch(caller, true, place)).toBeUndefined()
  })

  test.each<[string, Place, { isInstallation: boolean } | undefined, boolean]>([
    ["of the installation's app", at(), { isInstallation: true }, true],
    ["of another app", at(), { isInstallation: false }, false],
    ["of no app", at(), undefined, false],
    ["of a tenant of the installation's app", at(app, tenant), { isInstallation: true }, false],
    ["of a context of the installation's app", at(app, null, project), { isInstallation: true }, false],
  ])("%s: may it administer the installation?", (_, caller, callersApp, expected) => {
    expect(administersInstallation(caller, callersApp)).toBe(expected)
  })
})

test.each<[string, Place, Place, boolean]>([
  ["a place is inside of itself", at(app, tenant), at(app, tenant), true],
  ["a tenant is inside of its app", at(app, tenant), at(), true],
  ["a context is inside of its tenant", at(app, tenant, project), at(app, tenant), true],
  ["an app is not inside of its tenant", at(), at(app, tenant), false],
  ["a tenant is not inside of another", at(app, otherTenant), at(app, tenant), false],
  ["a tenant is not inside of another app", at(otherApp, tenant), at(), false],
  ["a context is inside of itself", at(app, tenant, project), at(app, tenant, project), true],
  ["a context is not inside of another", at(app, tenant, otherProject), at(app, tenant, project), false],
  ["a tenant is not inside of its context", at(app, tenant), at(app, tenant, project), false],
])("%s", (_, inner, outer, expected) => {
  expect(isInside(inner, outer)).toBe(expected)
})
