// The place of an administrative command: an app, perhaps with a tenant and a context.
import type { Command } from "commander"
import { type Cli, profileOf } from "./cli.ts"
import { appIdOf } from "./own-app.ts"

export interface PlaceOptions {
  readonly app?: string
  readonly tenant?: string
  readonly context?: string
}

export interface Place {
  readonly appId: string
  /** Empty for none. */
  readonly tenantId: string
  /** Empty for none. */
  readonly contextId: string
}

/** Each part that the caller omits comes from the environment, then the profile, then the app of the sign-in. */
export async function placeOf(cli: Cli, { app, tenant, context }: PlaceOptions): Promise<Place> {
  const { SIGNET_APP, SIGNET_TENANT } = cli.env
  const { administers } = profileOf(cli)
  const appId = app ?? (SIGNET_APP || administers?.appId)
  // A default tenant belongs to the default app only.
  const isSetApp = app === undefined || app === (SIGNET_APP || administers?.appId)
  const set = isSetApp ? SIGNET_TENANT || administers?.tenantId : undefined
  return { appId: await appIdOf(cli, appId), tenantId: tenant ?? set ?? "", contextId: context ?? "" }
}

const appText = "App id. Default: SIGNET_APP, the profile's app, or the app of the sign-in."
const tenantText = "Tenant id. Default: SIGNET_TENANT or the profile's tenant; an empty value means none."

export const inApp = (command: Command): Command => command.option("--app <id>", appText)
export const inTenant = (command: Command): Command => inApp(command).option("--tenant <id>", tenantText)
export const inContext = (command: Command): Command => inTenant(command).option("--context <id>", "Context id.")
