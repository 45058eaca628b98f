// The development profile of a server: stand-in providers, an app, and endpoints that ask for no credentials.
import type { AppId } from "@signet/kernel/ids"
import type { Secrets } from "@signet/kernel/keys/ports"
import type { Clock, Store } from "@signet/kernel/ports"
import type { FastifyInstance } from "fastify"
import { developmentAdmin } from "./admin.ts"
import { partner } from "./app.ts"
import { type AddedBackend, developmentBackend } from "./backend.ts"
import { developmentConsole } from "./console.ts"
import { createDevelopmentIdp } from "./idp.ts"
import { createDevelopmentIdpB } from "./idp-b.ts"
import { createDevelopmentIdpC } from "./idp-c.ts"
import { developmentPlugin } from "./plugin.ts"
import { seedDevelopment } from "./seed.ts"

interface DevelopmentProfile {
  readonly profile: string
  /** The server's own origin, such as http://127.0.0.1:8080. */
  readonly origin: string
  readonly clock: Clock
  readonly store: Store
  readonly secrets: Pick<Secrets, "seal">
  readonly authAudience: string
  readonly messagingAudience: string
  /** Creates an administrator. Undefined if one may not be created. */
  readonly createAdministrator: () => Promise<{ pat: string; expiresAtMs: number } | undefined>
  /** Invites an administrator to an app; without an app, to the installation's own. */
  readonly inviteAdministrator: (appId?: AppId) => Promise<{ appId: AppId; code: string } | undefined>
  /** Null if this server cannot register messaging backends. */
  readonly addMessagingBackend: ((receiptKey: Uint8Array) => Promise<AddedBackend>) | null
}

/** @throws Error outside the development profile: none of this authenticates its callers. */
export async function addDevelopment(app: FastifyInstance, of: DevelopmentProfile): Promise<void> {
  const standIn = { profile: of.profile, origin: () => of.origin, clock: of.clock }
  const idp = createDevelopmentIdp(standIn)
  const partnerIdp = createDevelopmentIdp({ ...standIn, of: partner })
  const idpB = createDevelopmentIdpB(standIn)
  const idpC = createDevelopmentIdpC(standIn)
  for (const one of [idp, partnerIdp, idpB, idpC]) await app.register(developmentPlugin, { idp: one })
  await app.register(developmentAdmin, { create: of.createAdministrator })
  const { webSecret } = idp
  await app.register(developmentConsole, { ...of, webSecret, invite: of.inviteAdministrator })
  if (of.addMessagingBackend) await app.register(developmentBackend, { add: of.addMessagingBackend })
  await seedDevelopment({ ...of, idp, partnerIdp, idpB, idpC })
}
