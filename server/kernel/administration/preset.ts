// Presets of well-known providers. An app's administrator chooses a preset and no issuer or address, so each issuer's
// own keys vouch for its accounts.
import type { ProviderClient } from "../records.ts"
import { invalid, type Problem } from "./problem.ts"

/** The fields that a preset fills in. */
type PresetValues = Pick<
  ProviderClient,
  "issuers" | "canonicalIssuer" | "jwksUri" | "authorizationEndpoint" | "tokenEndpoint" | "displayName"
>

interface Preset {
  /**
   * The tenant or domain that the preset needs; null for none. The pattern accepts only names that stay below the
   * provider's own domain.
   */
  readonly tenant: { readonly shape: RegExp; readonly message: string } | null
  readonly values: (tenant: string) => PresetValues
}

const label = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"

const presets: Readonly<Record<string, Preset>> = {
  google: {
    tenant: null,
    values: () => ({
      displayName: "Google",
      issuers: ["https://accounts.google.com", "accounts.google.com"],
      canonicalIssuer: "https://accounts.google.com",
      jwksUri: "https://www.googleapis.com/oauth2/v3/certs",
      authorizationEndpoint: "https://accounts.google.com/o/oauth2/v2/auth",
      tokenEndpoint: "https://oauth2.googleapis.com/token",
    }),
  },
  // Requires one tenant, whose id is in the issuer: the endpoints shared by all tenants have no single issuer.
  entra: {
    tenant: {
      shape: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
      message: "preset_tenant must be the directory (tenant) id, a UUID in lower case",
    },
    values: (tenant) => ({
      displayName: "Microsoft",
      ...only(`https://login.microsoftonline.com/${tenant}/v2.0`),
      jwksUri: `https://login.microsoftonline.com/${tenant}/discovery/v2.0/keys`,
      authorizationEndpoint: `https://login.microsoftonline.com/${tenant}/oauth2/v2.0/authorize`,
      tokenEndpoint: `https://login.microsoftonline.com/${tenant}/oauth2/v2.0/token`,
    }),
  },
  okta: {
    tenant: {
      shape: new RegExp(`^${label}\\.(okta\\.com|okta-emea\\.com|oktapreview\\.com)$`),
      message: "preset_tenant must be the organization's domain, such as example.okta.com",
    },
    values: (domain) => ({
      displayName: "Okta",
      ...only(`https://${domain}`),
      jwksUri: `https://${domain}/oauth2/v1/keys`,
      authorizationEndpoint: `https://${domain}/oauth2/v1/authorize`,
      tokenEndpoint: `https://${domain}/oauth2/v1/token`,
    }),
  },
  auth0: {
    tenant: {
      shape: new RegExp(`^${label}(\\.[a-z]{2})?\\.auth0\\.com$`),
      message: "preset_tenant must be the tenant's domain, such as example.eu.auth0.com",
    },
    values: (domain) => ({
      displayName: "Auth0",
      // The trailing slash is part of the issuer in Auth0's tokens.
      ...only(`https://${domain}/`),
      jwksUri: `https://${domain}/.well-known/jwks.json`,
      authorizationEndpoint: `https://${domain}/authorize`,
      tokenEndpoint: `https://${domain}/oauth/token`,
    }),
  },
}

const only = (issuer: string) => ({ issuers: [issuer], canonicalIssuer: issuer })

type Filled =
  | { readonly is: "filled"; readonly values: PresetValues }
  /** The field is a path in the request. */
  | { readonly is: "refuse"; readonly problem: Problem }

/** Returns the values that a preset fills in, or why it cannot be used. */
export function presetValues(name: string, tenant: string): Filled {
  const preset = Object.hasOwn(presets, name) ? presets[name] : undefined
  if (preset === undefined) {
    return refuse("preset", `preset must be one of ${Object.keys(presets).join(", ")}`)
  }
  if (preset.tenant === null && tenant !== "") return refuse("preset_tenant", `${name} has no tenant`)
  if (preset.tenant !== null && !preset.tenant.shape.test(tenant)) return refuse("preset_tenant", preset.tenant.message)
  return { is: "filled", values: preset.values(tenant) }
}

const refuse = (field: string, message: string): Filled => ({
  is: "refuse",
  problem: invalid(`provider_client.${field}`, message),
})
