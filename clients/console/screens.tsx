// The screens by path. Each is loaded when it is first opened.
import { type ComponentType, lazy } from "react"
import { t } from "./text/frame.ts"

const overview = lazy(async () => ({ default: (await import("./screens/overview.tsx")).Overview }))
const people = lazy(async () => ({ default: (await import("./screens/people.tsx")).People }))
const person = lazy(async () => ({ default: (await import("./screens/person.tsx")).Person }))
const apps = lazy(async () => ({ default: (await import("./screens/apps.tsx")).Apps }))
const app = lazy(async () => ({ default: (await import("./screens/app/app.tsx")).AppScreen }))
const services = lazy(async () => ({ default: (await import("./screens/services.tsx")).Services }))
const service = lazy(async () => ({ default: (await import("./screens/service.tsx")).Service }))
const delegations = lazy(async () => ({ default: (await import("./screens/delegations.tsx")).Delegations }))
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
  /** Without this scope the menu leaves the screen out. */
  readonly scope?: string
  readonly all: ComponentType
  readonly one?: ComponentType
}

const { nav } = t
export const screens: readonly Screen[] = [
  { path: "", name: nav.overview, group: nav.administration, all: overview },
  {
    path: "people",
    name: nav.people,
    group: nav.administration,
    scope: "auth.identities.read",
    all: people,
    one: person,
  },
  { path: "apps", name: nav.apps, group: nav.administration, scope: "auth.apps.read", all: apps, one: app },
  {
    ...{ path: "services", name: nav.services, group: nav.administration, scope: "auth.service_accounts.read" },
    ...{ all: services, one: service },
  },
  { path: "delegations", name: nav.delegations, group: nav.administration, all: delegations },
  { path: "activity", name: nav.activity, group: nav.understanding, scope: "auth.audit.read", all: activity },
  { path: "audit", name: nav.audit, group: nav.understanding, scope: "auth.audit.read", all: audit },
  { path: "why", name: nav.why, group: nav.understanding, scope: "auth.audit.read", all: why },
  { path: "limits", name: nav.limits, group: nav.understanding, scope: "auth.principals.read", all: limits },
  { path: "keys", name: nav.keys, group: nav.understanding, all: keys },
  { path: "health", name: nav.health, group: nav.understanding, all: health },
]

export function screenOf([first = "", second]: readonly string[]): ComponentType {
  if (first === "account") return account
  if (first === "components") return components
  const found = screens.find(({ path }) => path === first)
  if (found === undefined) return nowhere
  return second === undefined ? found.all : (found.one ?? nowhere)
}
