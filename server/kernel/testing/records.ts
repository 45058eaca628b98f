// Test data: one record of each kind, for tests that change a field.
import { newId } from "../ids.ts"
import type {
  App,
  Identity,
  Membership,
  Principal,
  ProviderAccount,
  ProviderClient,
  RefreshToken,
  Session,
} from "../records.ts"

const random = Uint8Array.from({ length: 10 }, (_, i) => i * 7)
const day = 86_400_000

export const app: App = {
  id: newId("app", 1, random),
  name: "Notes",
  status: "ACTIVE",
  audiences: ["svc-notes"],
  scopes: [
    { key: "notes.read", audience: "svc-notes", isDefault: true },
    { key: "notes.write", audience: "svc-notes", isDefault: true },
    { key: "notes.admin", audience: "svc-notes", isDefault: false },
    { key: "auth.service_accounts.read", audience: "auth", isDefault: false },
    { key: "auth.service_accounts.write", audience: "auth", isDefault: false },
    { key: "auth.delegation.write", audience: "auth", isDefault: false },
    { key: "auth.introspect", audience: "auth", isDefault: false },
  ],
  settings: {
    signupEnabled: true,
    sessionIdleSecondsWeb: 14 * 86_400,
    sessionIdleSecondsNative: 30 * 86_400,
    sessionAbsoluteSeconds: 90 * 86_400,
    retryWindowSeconds: 600,
    allowedOrigins: ["https://notes.example"],
    allowedRedirectUris: ["https://notes.example/signed-in"],
    requireSameDevice: false,
    managesIdentity: true,
  },
  isInstallation: false,
  createdAtMs: 1,
  updatedAtMs: 1,
}

export const providerClient: ProviderClient = {
  id: newId("pcl", 1, random),
  appId: app.id,
  provider: "IDP_A",
  platform: "WEB",
  status: "ACTIVE",
  clientId: "notes-web",
  issuers: ["https://idp-a.example"],
  canonicalIssuer: "https://idp-a.example",
  audiences: ["notes-web"],
  authorizedParties: ["notes-web"],
  nonceMode: "RAW",
  requireNonce: true,
  hostedDomains: [],
  signupEnabled: true,
  redirectUris: ["https://notes.example/callback"],
  jwksUri: "https://idp-a.example/jwks",
  tokenEndpoint: "https://idp-a.example/token",
  clientSecretSealed: null,
  providerTenant: null,
  clientKeyId: null,
  revocationEndpoint: null,
  projectUrl: null,
  tokenSecretSealed: null,
  connection: "",
  displayName: "",
  authorizationEndpoint: null,
  scopes: [],
  requiresResponseIssuer: false,
  createdAtMs: 1,
  updatedAtMs: 1,
}

export const identity: Identity = {
  id: newId("idn", 1, random),
  status: "ACTIVE",
  primaryEmail: "ada@example.com",
  deletesAtMs: null,
  createdAtMs: 1,
  updatedAtMs: 1,
}

export const account: ProviderAccount = {
  id: newId("pac", 1, random),
  identityId: identity.id,
  provider: "IDP_A",
  issuer: "https://idp-a.example",
  subject: "ada",
  providerTenant: null,
  email: "ada@example.com",
  isRelayEmail: false,
  isContactable: true,
  refreshTokenSealed: null,
  status: "LINKED",
  createdAtMs: 1,
}

export const principal: Principal = {
  id: newId("prn", 1, random),
  kind: "USER",
  identityId: identity.id,
  status: "ACTIVE",
}

export const membership: Membership = {
  id: newId("mem", 1, random),
  principalId: principal.id,
  appId: app.id,
  tenantId: null,
  contextId: null,
  status: "ACTIVE",
  profile: {},
  scopes: [],
  createdAtMs: 1,
  updatedAtMs: 1,
}

export const session: Session = {
  id: newId("ses", 1, random),
  principalId: principal.id,
  identityId: identity.id,
  appId: app.id,
  tenantId: null,
  contextId: null,
  providerAccountId: account.id,
  providerClientId: providerClient.id,
  platform: "WEB",
  amr: ["IDP_A"],
  audiences: ["auth"],
  authTimeMs: 1_000,
  status: "ACTIVE",
  createdAtMs: 1_000,
  lastRefreshedAtMs: null,
  idleExpiresAtMs: 1_000 + 14 * day,
  absoluteExpiresAtMs: 1_000 + 90 * day,
  rotation: 0,
  device: { deviceId: "", label: "", os: "", appVersion: "" },
  boundDeviceId: null,
  userAgent: "",
  cookieMode: false,
  revokedAtMs: null,
  revokeReason: null,
}

export const refreshToken: RefreshToken = {
  id: newId("rtk", 1, random),
  sessionId: session.id,
  tokenHash: new Uint8Array(32).fill(1),
  familyId: session.id,
  previousTokenId: null,
  createdAtMs: 1_000,
  usedAtMs: null,
  rotatedAtMs: null,
  expiresAtMs: 1_000 + 14 * day,
  revokedAtMs: null,
  retryKeyHash: null,
  successorSealed: null,
  confirmedAtMs: null,
}
