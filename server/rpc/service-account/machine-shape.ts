// Maps service accounts and their credentials to contract messages, which have no field for a hash or secret.
import type { MessageInitShape } from "@bufbuild/protobuf"
import { type Timestamp, timestampFromMs } from "@bufbuild/protobuf/wkt"
import type * as kernel from "@signet/kernel/machine/records"
import { secretState } from "@signet/kernel/machine/service-account"
import { patState } from "@signet/kernel/token/pat"
import { Pat_Status, type PatSchema } from "@signet/proto/auth/v1/pat_service"
import {
  ClientAuthMethod,
  type EnvelopeKeySchema,
  ServiceAccount_Status,
  type ServiceAccountSchema,
  type ServiceKeySchema,
  ServiceSecret_Status,
  type ServiceSecretSchema,
} from "@signet/proto/auth/v1/service_account_service"

const timestamp = (ms: number | null): Timestamp | undefined => (ms === null ? undefined : timestampFromMs(ms))

export const patShape = (of: kernel.Pat, nowMs: number): MessageInitShape<typeof PatSchema> => ({
  id: of.id,
  name: of.name,
  last4: of.last4,
  appId: of.appId,
  tenantId: of.tenantId ?? "",
  contextId: of.contextId ?? "",
  allowedAudiences: [...of.allowedAudiences],
  scopes: [...of.scopes],
  status: Pat_Status[patState(of, nowMs)],
  createdAt: timestamp(of.createdAtMs),
  expiresAt: timestamp(of.expiresAtMs),
  lastUsedAt: timestamp(of.lastUsedAtMs),
  revokedAt: timestamp(of.revokedAtMs),
})

const authMethods = {
  client_secret_basic: ClientAuthMethod.CLIENT_SECRET_BASIC,
  client_secret_post: ClientAuthMethod.CLIENT_SECRET_POST,
  private_key_jwt: ClientAuthMethod.PRIVATE_KEY_JWT,
} as const satisfies Record<kernel.ClientAuthMethod, ClientAuthMethod>

const methodNames: readonly kernel.ClientAuthMethod[] = ["client_secret_basic", "client_secret_post", "private_key_jwt"]

/** Validation has refused unknown numbers. */
export const authMethodsOf = (numbers: readonly ClientAuthMethod[]): kernel.ClientAuthMethod[] =>
  methodNames.filter((name) => numbers.includes(authMethods[name]))

export const serviceAccountShape = (of: kernel.ServiceAccount): MessageInitShape<typeof ServiceAccountSchema> => ({
  id: of.id,
  principalId: of.principalId,
  appId: of.appId,
  tenantId: of.tenantId ?? "",
  name: of.name,
  clientId: of.clientId,
  status: ServiceAccount_Status[of.status],
  authMethods: of.authMethods.map((method) => authMethods[method]),
  ownedAudiences: [...of.ownedAudiences],
  allowedAudiences: [...of.allowedAudiences],
  scopes: [...of.scopes],
  defaultScopes: [...of.defaultScopes],
  createdAt: timestamp(of.createdAtMs),
})

export const serviceSecretShape = (
  of: kernel.ServiceSecret,
  nowMs: number,
): MessageInitShape<typeof ServiceSecretSchema> => ({
  id: of.id,
  hint: of.hint,
  status: ServiceSecret_Status[secretState(of, nowMs)],
  createdAt: timestamp(of.createdAtMs),
  expiresAt: timestamp(of.expiresAtMs),
  lastUsedAt: timestamp(of.lastUsedAtMs),
  revokedAt: timestamp(of.revokedAtMs),
})

export const serviceKeyShape = (of: kernel.ServiceKey): MessageInitShape<typeof ServiceKeySchema> => ({
  kid: of.kid,
  x: of.x,
  y: of.y,
  createdAt: timestamp(of.createdAtMs),
  revokedAt: timestamp(of.revokedAtMs),
})

export const envelopeKeyShape = (of: kernel.EnvelopeKey): MessageInitShape<typeof EnvelopeKeySchema> => ({
  kid: of.kid,
  x: of.x,
  y: of.y,
  mailboxes: [...of.mailboxes],
  createdAt: timestamp(of.createdAtMs),
  revokedAt: timestamp(of.revokedAtMs),
})
