import type { Secrets } from "@signet/kernel/keys/ports"
import type { Store } from "@signet/kernel/ports"
import { buildDevelopmentApp, buildProviderClients, partner } from "./app.ts"
import type { DevelopmentIdp } from "./idp.ts"
import type { DevelopmentIdpB } from "./idp-b.ts"
import { buildIdpBClients } from "./idp-b-clients.ts"
import type { DevelopmentIdpC } from "./idp-c.ts"
import { buildIdpCClients } from "./idp-c-clients.ts"

/**
 * Inserts or replaces the development app and its provider clients. Call it once the origin is known, before the first
 * sign-in.
 */
export async function seedDevelopment(deps: {
  store: Store
  secrets: Pick<Secrets, "seal">
  idp: Pick<DevelopmentIdp, "origin" | "webSecret">
  partnerIdp: Pick<DevelopmentIdp, "webSecret">
  idpB: Pick<DevelopmentIdpB, "teamKey">
  idpC: Pick<DevelopmentIdpC, "secretKey" | "tokenSecret">
  authAudience: string
  messagingAudience: string
}): Promise<void> {
  const origin = deps.idp.origin()
  const clients = [
    ...buildProviderClients(origin, deps.idp.webSecret, deps.secrets),
    ...buildProviderClients(origin, deps.partnerIdp.webSecret, deps.secrets, partner),
    ...buildIdpBClients(origin, deps.idpB.teamKey.privatePem, deps.secrets),
    ...buildIdpCClients(origin, deps.idpC, deps.secrets),
  ]
  await deps.store.transaction(async (tx) => {
    await tx.apps.putApp(buildDevelopmentApp(origin, deps.authAudience, deps.messagingAudience))
    for (const client of clients) await tx.apps.putProviderClient(client)
  })
}
