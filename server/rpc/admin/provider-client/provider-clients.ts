import { create } from "@bufbuild/protobuf"
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect"
import { clientMoves, type Move } from "@signet/kernel/administration/moves"
import { providerProblem } from "@signet/kernel/administration/provider"
import { type ClientValues, clientProblem } from "@signet/kernel/administration/provider-client"
import type { AuditKind } from "@signet/kernel/audit/event"
import { Refused } from "@signet/kernel/errors"
import { parseId } from "@signet/kernel/ids"
import type { ProviderClient } from "@signet/kernel/records"
import type { AppAuthService } from "@signet/proto/auth/v1/app_auth_service"
import { ProviderClientSchema } from "@signet/proto/auth/v1/provider_clients"
import type { Deps } from "../../deps.ts"
import { refuseClosed } from "../../field-behavior.ts"
import { changed } from "../../field-mask.ts"
import { mostCounted, pageAsked, pageFound } from "../../page.ts"
import { type AdminTransaction, administer } from "../administer.ts"
import { refuseStale } from "../etag.ts"
import { foundApp, foundIn, wholeApp } from "../found.ts"
import { given, isSame, moved, refuse } from "../outcome.ts"
import { newClientValues } from "./new-provider-client.ts"
import { clientValues, providerClientShape } from "./provider-client-shape.ts"
import { sealed } from "./provider-secrets.ts"

type Methods =
  | "createProviderClient"
  | "getProviderClient"
  | "listProviderClients"
  | "updateProviderClient"
  | "disableProviderClient"
  | "enableProviderClient"

const schema = ProviderClientSchema
const path = "provider_client"

export function providerClients(deps: Deps): Pick<ServiceImpl<typeof AppAuthService>, Methods> {
  return {
    createProviderClient: (request, context) =>
      administer(deps, context, "write", async (admin) => {
        const app = await foundApp(admin, request.appId)
        const asked = given(request.providerClient, path)
        refuseClosed(schema, asked, "create", path)
        const values = newClientValues(asked)
        const id = admin.newId("pcl")
        const kept = await sealed(deps.secrets, { ...values, id }, asked)
        await refuseProblem(
          admin,
          { ...values, ...kept, appId: app.id },
          { before: null, isPreset: asked.preset !== "" },
        )
        if (app.status === "ARCHIVED") throw new Refused("STATE_CONFLICT")
        const { nowMs } = admin
        const made = { appId: app.id, status: "ACTIVE", createdAtMs: nowMs, updatedAtMs: nowMs } as const
        const client: ProviderClient = { ...values, ...kept, ...made, id }
        if (!(await admin.tx.administration.insertProviderClient(client))) throw new Refused("ALREADY_EXISTS")
        await record(admin, "provider_client.created", client)
        return { providerClient: providerClientShape(client) }
      }),

    getProviderClient: (request, context) =>
      administer(deps, context, "read", async (admin) => {
        const client = await foundClient(admin, request)
        const activeSessions = await admin.tx.endings.countByClient(client.id, admin.nowMs, mostCounted)
        return { providerClient: providerClientShape(client), activeSessions }
      }),

    listProviderClients: (request, context) =>
      administer(deps, context, "read", async (admin) => {
        const app = await foundApp(admin, request.appId)
        const filter = ["provider-clients", app.id]
        const asked = pageAsked(deps.secrets, "pcl", filter, request)
        const found = await admin.tx.administration.listProviderClients(app.id, asked)
        const { page, nextPageToken } = pageFound(deps.secrets, filter, request, found)
        return { providerClients: page.map(providerClientShape), nextPageToken }
      }),

    updateProviderClient: (request, context) =>
      administer(deps, context, "write", async (admin) => {
        const client = await foundClient(admin, request)
        const current = create(schema, providerClientShape(client))
        const values = given(request.providerClient, path)
        const { message, paths } = changed(current, { desc: schema, values, mask: request.updateMask, path })
        const next = clientValues(message)
        const kept = await sealed(deps.secrets, client, message)
        const secrets = {
          clientSecretSealed: paths.has("client_secret") ? kept.clientSecretSealed : client.clientSecretSealed,
          tokenSecretSealed: paths.has("token_secret") ? kept.tokenSecretSealed : client.tokenSecretSealed,
        }
        await refuseProblem(admin, { ...next, ...secrets, appId: client.appId }, { before: client, isPreset: false })
        const isAsItWas =
          isSame(next, clientValues(current)) && !paths.has("client_secret") && !paths.has("token_secret")
        if (isAsItWas) return { providerClient: current }
        refuseStale(schema, current, values)
        const updated = { ...client, ...next, ...secrets, updatedAtMs: admin.nowMs }
        await admin.tx.apps.putProviderClient(updated)
        await record(admin, "provider_client.updated", updated)
        return { providerClient: providerClientShape(updated) }
      }),

    disableProviderClient: (request, context) =>
      move(deps, context, request, "provider_client.disabled", clientMoves.disable),
    enableProviderClient: (request, context) =>
      move(deps, context, request, "provider_client.enabled", clientMoves.enable),
  }
}

interface Named {
  appId: string
  providerClientId: string
}

async function foundClient(admin: AdminTransaction, { appId, providerClientId }: Named): Promise<ProviderClient> {
  const id = parseId("pcl", providerClientId)
  const client = foundIn(appId, id && (await admin.tx.administration.lockProviderClient(id)))
  admin.reach(wholeApp(client.appId))
  return client
}

async function refuseProblem(
  { deps, tx, isInstallation }: AdminTransaction,
  asked: ClientValues & Pick<ProviderClient, "appId" | "clientSecretSealed" | "tokenSecretSealed">,
  { before, isPreset }: { before: ClientValues | null; isPreset: boolean },
): Promise<void> {
  const secrets = { clientSecret: asked.clientSecretSealed !== null, tokenSecret: asked.tokenSecretSealed !== null }
  refuse(clientProblem(asked, { before, secrets, isLoopbackAllowed: deps.isLoopbackAllowed }))
  const known = await tx.administration.findProviderClients(asked.provider)
  refuse(providerProblem(asked, { before, isInstallationAdmin: isInstallation, appId: asked.appId, known, isPreset }))
}

function move(deps: Deps, context: HandlerContext, of: Named, kind: AuditKind, to: Move<ProviderClient["status"]>) {
  return administer(deps, context, "write", async (admin) => {
    const client = await foundClient(admin, of)
    const next = moved(client, to)
    if (next === undefined) return { providerClient: providerClientShape(client) }
    const updated = { ...next, updatedAtMs: admin.nowMs }
    await admin.tx.apps.putProviderClient(updated)
    if (to.to === "DISABLED") await admin.tx.endings.endByClient(client.id, kind, admin.nowMs)
    await record(admin, kind, updated)
    return { providerClient: providerClientShape(updated) }
  })
}

const record = (admin: AdminTransaction, kind: AuditKind, { id, appId }: ProviderClient): Promise<void> =>
  admin.record(kind, { place: wholeApp(appId), target: { type: "provider_client", id } })
