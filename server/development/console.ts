// POST /dev/console: makes the caller an administrator who can sign in to the console.

import type { AppId } from "@signet/kernel/ids"
import type { Secrets } from "@signet/kernel/keys/ports"
import type { Store } from "@signet/kernel/ports"
import type { FastifyPluginCallback } from "fastify"
import { buildInstallationClient, ownOrigins } from "./app.ts"
import { developmentAppId } from "./app-id.ts"

interface ConsoleDeps {
  readonly origin: string
  readonly store: Store
  readonly secrets: Pick<Secrets, "seal">
  /** The web client's secret at the stand-in provider. */
  readonly webSecret: string
  readonly invite: (appId?: AppId) => Promise<{ readonly appId: AppId; readonly code: string } | undefined>
}

/**
 * Answers any caller with an invitation to the development app, or with `?app=installation` to the installation's own,
 * with all administrative scopes. `app.register(..., deps)`.
 */
export const developmentConsole: FastifyPluginCallback<ConsoleDeps> = (app, deps, done) => {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser("*", (_request, _payload, parsed) => parsed(null))
  app.post<{ Querystring: { app?: string } }>("/dev/console", async (request, reply) => {
    const isInstallation = request.query.app === "installation"
    const invitation = await deps.invite(isInstallation ? undefined : developmentAppId)
    if (invitation !== undefined && isInstallation) await connect(deps, invitation.appId)
    return reply
      .header("cache-control", "no-store")
      .send(invitation && { appId: invitation.appId, invitationCode: invitation.code })
  })
  done()
}

/** Lets people sign in to the installation's app with the stand-in provider, on this server's own pages. */
async function connect({ store, secrets, origin, webSecret }: ConsoleDeps, appId: AppId): Promise<void> {
  await store.transaction(async (tx) => {
    const app = await tx.apps.findApp(appId)
    if (app === undefined) return
    await tx.apps.putApp({ ...app, settings: { ...app.settings, allowedOrigins: ownOrigins(origin) } })
    await tx.apps.putProviderClient(buildInstallationClient(origin, webSecret, secrets, appId))
  })
}
