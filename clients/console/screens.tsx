// The screens by path. Each is loaded when it is first opened.
import { type ComponentType, lazy } from "react"
import type { Access } from "./access.tsx"
import { appParts, type Needs, type Refusal, refusalOf } from "./offer.ts"
import { t } from "./text/frame.ts"

const overview = lazy(async () => ({ default: (await import("./screens/overview.tsx")).Overview }))
const people = lazy(async () => ({ default: (await import("./screens/people.tsx")).People }))
const person = lazy(async () => ({ default: (await import("./screens/person/person.tsx")).Person }))
const apps = lazy(async () => ({ default: (await import("./screens/apps.tsx")).Apps }))
const app = lazy(async () => ({ default: (await import("./screens/app/app.tsx")).AppScreen }))
const tenant = lazy(async () => ({ default: (await import("./screens/app/tenant.tsx")).TenantScreen }))
const services = lazy(async () => ({ default: (await import("./screens/services.tsx")).Services }))
const service = lazy(async () => ({ default: (await import("./screens/service.tsx")).Service }))
const delegations = lazy(async () => ({ default: (await import("./screens/delegations/delegations.tsx")).Delegations }))
const activity = lazy(async () => ({ default: (await import("./screens/activity.tsx")).Activity }))
const audit = lazy(async () => ({ default: (await import("./screens/audit.tsx")).Audit }))
const why = lazy(async () => ({ default: (await import("./screens/why.tsx")).Why }))
const limits = lazy(async () => ({ default: (await import("./screens/limits.tsx")).Limits }))
const keys = lazy(async () => ({ default: (await import("./screens/keys.tsx")).Keys }))
const health = lazy(async () => ({ default: (await import("./screens/health.tsx")).Health }))
const components = lazy(async () => ({ default: (await import("./screens/components.tsx")).Components }))
const account = lazy(async () => ({ default: (await import("./screens/own-account.tsx")).OwnAccount }))
const nowhere = lazy(async () => ({ default: (await import("./screens/nowhere.tsx")).Nowhere }))

interface Screen {
  readonly path: string
  readonly name: string
  readonly group: string
  /** The needs of the list. Without them the menu leaves the screen out. */
  readonly needs?: Needs
  readonly all: ComponentType
  readonly one?: ComponentType
  /** The needs of one object's screen. Default: those of the list. */
  readonly needsOfOne?: Needs
}

const { nav } = t
const auditReader: Needs = { scopes: ["auth.audit.read"] }

export const screens: readonly Screen[] = [
  { path: "", name: nav.overview, group: nav.administration, all: overview },
  {
    ...{ path: "people", name: nav.people, group: nav.administration, needs: { scopes: ["auth.identities.read"] } },
    ...{ all: people, one: person },
    needsOfOne: { scopes: ["auth.members.read", "auth.grants.read", "auth.audit.read", "auth.principals.read"] },
  },
  {
    ...{ path: "apps", name: nav.apps, group: nav.administration, all: apps, one: app },
    needs: { scopes: ["auth.apps.read"], level: "app" },
    // Each part has needs of its own.
    needsOfOne: {},
  },
  {
    ...{ path: "services", name: nav.services, group: nav.administration, all: services, one: service },
    // An account belongs to the app or a tenant.
    needs: { scopes: ["auth.service_accounts.read"], level: "tenant" },
  },
  { path: "delegations", name: nav.delegations, group: nav.administration, all: delegations },
  { path: "activity", name: nav.activity, group: nav.understanding, needs: auditReader, all: activity },
  { path: "audit", name: nav.audit, group: nav.understanding, needs: auditReader, all: audit },
  { path: "why", name: nav.why, group: nav.understanding, needs: auditReader, all: why },
  {
    ...{ path: "limits", name: nav.limits, group: nav.understanding, all: limits },
    needs: { scopes: ["auth.principals.read"], level: "installation" },
  },
  { path: "keys", name: nav.keys, group: nav.understanding, all: keys },
  { path: "health", name: nav.health, group: nav.understanding, all: health },
]

interface Opened {
  readonly name: string
  readonly Screen: ComponentType
  readonly refusal: Refusal | undefined
}

/** The screen at a path, and why the signed-in person cannot use it. */
export function screenAt([first = "", second]: readonly string[], access: Access): Opened {
  const always = (name: string, Screen: ComponentType): Opened => ({ name, Screen, refusal: undefined })
  if (first === "account") return always(nav.account, account)
  if (first === "components") return always(nav.components, components)
  if (first === "tenants" && second !== undefined) {
    return { name: t.nav.tenant, Screen: tenant, refusal: refusalOf(appParts.tenants, access) }
  }
  const found = screens.find(({ path }) => path === first)
  const Screen = second === undefined ? found?.all : found?.one
  if (found === undefined || Screen === undefined) return always(t.nowhere.title, nowhere)
  const needs = second === undefined ? found.needs : (found.needsOfOne ?? found.needs)
  return { name: found.name, Screen, refusal: refusalOf(needs ?? {}, access) }
}
