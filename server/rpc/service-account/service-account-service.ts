import { durationMs, timestampFromMs } from "@bufbuild/protobuf/wkt"
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect"
import type { ServiceAccount } from "@signet/kernel/machine/records"
import type { ServiceAccountService } from "@signet/proto/auth/v1/service_account_service"
import { sessionUserOutsideContexts } from "../../serving/call/call.ts"
import type { Deps } from "../deps.ts"
import { pageAsked, pageFound } from "../page.ts"
import { onAccount } from "./administer.ts"
import { createAccount } from "./create-account.ts"
import { addEnvelopeKey, envelopeCertificate, revokeEnvelopeKey } from "./envelope-keys.ts"
import { addKey, revokeKey } from "./keys.ts"
import { envelopeKeyShape, serviceAccountShape, serviceKeyShape, serviceSecretShape } from "./machine-shape.ts"
import { addSecret, revokeSecret, rotateSecret } from "./secrets.ts"

export function serviceAccountService(deps: Deps): ServiceImpl<typeof ServiceAccountService> {
  return {
    async createServiceAccount(request, context) {
      return { serviceAccount: serviceAccountShape(await createAccount(deps, context, request)) }
    },

    getServiceAccount: (request, context) =>
      onAccount(
        deps,
        context,
        request.serviceAccountId,
        async ({ tx, account, nowMs }) => ({
          serviceAccount: serviceAccountShape(account),
          secrets: (await tx.serviceAccounts.secrets(account.id)).map((one) => serviceSecretShape(one, nowMs)),
          keys: (await tx.serviceAccounts.keys(account.id)).map(serviceKeyShape),
        }),
        { take: "find" },
      ),

    async listServiceAccounts(request, context) {
      const place = sessionUserOutsideContexts(context)
      const { principalIds } = request
      const filter = ["service-accounts", place.appId, place.tenantId ?? "", ...principalIds]
      const asked = pageAsked(deps.secrets, "sac", filter, request)
      const found = await deps.store.transaction((tx) => tx.serviceAccounts.list(place, principalIds, asked))
      const { page, nextPageToken } = pageFound(deps.secrets, filter, request, found)
      return { serviceAccounts: page.map(serviceAccountShape), nextPageToken }
    },

    async addSecret({ serviceAccountId, expiresInDays }, context) {
      const shown = await addSecret(deps, context, { accountId: serviceAccountId, lifeDays: expiresInDays })
      return { secret: shown.secret, serviceSecret: serviceSecretShape(shown.kept, deps.clock.nowMs()) }
    },

    async rotateSecret({ serviceAccountId, expiresInDays, overlap }, context) {
      const shown = await rotateSecret(deps, context, {
        accountId: serviceAccountId,
        lifeDays: expiresInDays,
        overlap: overlap && durationMs(overlap),
      })
      const nowMs = deps.clock.nowMs()
      return {
        secret: shown.secret,
        serviceSecret: serviceSecretShape(shown.kept, nowMs),
        replaced: shown.replaced.map((secret) => serviceSecretShape(secret, nowMs)),
      }
    },

    async revokeSecret({ serviceAccountId, secretId }, context) {
      await revokeSecret(deps, context, { accountId: serviceAccountId, secretId })
      return {}
    },

    async addKey({ serviceAccountId, x, y }, context) {
      return { serviceKey: serviceKeyShape(await addKey(deps, context, { accountId: serviceAccountId, x, y })) }
    },

    async revokeKey({ serviceAccountId, kid }, context) {
      await revokeKey(deps, context, { accountId: serviceAccountId, kid })
      return {}
    },

    async addEnvelopeKey({ serviceAccountId, x, y, mailboxes, proof }, context) {
      const key = await addEnvelopeKey(deps, context, { accountId: serviceAccountId, x, y, mailboxes, proof })
      return { envelopeKey: envelopeKeyShape(key) }
    },

    listEnvelopeKeys: (request, context) =>
      onAccount(
        deps,
        context,
        request.serviceAccountId,
        async ({ tx, account }) => ({
          envelopeKeys: (await tx.envelopeKeys.list(account.id)).map(envelopeKeyShape),
        }),
        { take: "find" },
      ),

    async revokeEnvelopeKey({ serviceAccountId, kid }, context) {
      await revokeEnvelopeKey(deps, context, { accountId: serviceAccountId, kid })
      return {}
    },

    async getEnvelopeCertificate({ kid }, context) {
      const { certificate, expiresAtMs } = await envelopeCertificate(deps, context, kid)
      return { certificate, expiresAt: timestampFromMs(expiresAtMs) }
    },

    async disableServiceAccount({ serviceAccountId }, context) {
      await setStatus(deps, context, serviceAccountId, "DISABLED")
      return {}
    },

    async enableServiceAccount({ serviceAccountId }, context) {
      await setStatus(deps, context, serviceAccountId, "ACTIVE")
      return {}
    },
  }
}

/** The guard reads the status on every call, so issued access tokens stop at once. */
function setStatus(
  deps: Deps,
  context: HandlerContext,
  accountId: string,
  status: ServiceAccount["status"],
): Promise<void> {
  const kind = status === "ACTIVE" ? "service_account.enabled" : "service_account.disabled"
  return onAccount(deps, context, accountId, async ({ tx, account, nowMs, record }) => {
    if (await tx.serviceAccounts.setStatus(account.id, status, nowMs)) await record(kind)
  })
}
