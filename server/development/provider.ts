// Configuration of the stand-in OpenID provider: https://github.com/panva/node-oidc-provider/blob/main/docs/README.md
import { randomBytes } from "node:crypto"
import type { Clock } from "@signet/kernel/ports"
import type { Provider } from "oidc-provider"
import type { DevelopmentIssuer } from "./app.ts"
import type { Issuer } from "./direct.ts"
import { createIdpKey } from "./idp-key.ts"
import { memoryAdapters } from "./memory-adapter.ts"
import { claimsOf, type Person } from "./person.ts"

export interface RunningProvider extends Issuer {
  provider: Provider
}

interface ProviderOptions {
  readonly of: DevelopmentIssuer
  /** The origin of the server that it is mounted in. */
  readonly origin: string
  readonly webSecret: string
  /** Users who have signed in, by subject. */
  readonly people: ReadonlyMap<string, Person>
  readonly clock: Clock
}

export async function startProvider(options: ProviderOptions): Promise<RunningProvider> {
  const { of, origin, webSecret, people, clock } = options
  // Imported here, so that the production profile never loads it.
  const oidc = await import("oidc-provider")
  const issuer = origin + of.path
  const key = await createIdpKey()
  const clients = of.clients(origin)
  const policy = oidc.interactionPolicy.base()
  policy.get("consent")?.checks.remove("native_client_prompt")
  const provider = new oidc.Provider(issuer, {
    adapter: memoryAdapters(() => clock.nowMs()),
    jwks: { keys: [key.privateJwk] },
    clients: clients.map(({ platform, clientId, redirectUris }) => ({
      client_id: clientId,
      redirect_uris: [...redirectUris],
      grant_types: ["authorization_code"],
      response_types: ["code"],
      ...(platform === "WEB"
        ? { application_type: "web", client_secret: webSecret, token_endpoint_auth_method: "client_secret_basic" }
        : { application_type: "native", token_endpoint_auth_method: "none" }),
    })),
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"] },
    // Put the claims into the ID token, too, as large providers do.
    conformIdTokenClaims: false,
    features: { devInteractions: { enabled: false } },
    pkce: { required: () => true },
    // Two providers share one host, so each limits its cookies to its path.
    cookies: { keys: [randomBytes(32).toString("base64url")], long: { path: of.path }, short: { path: of.path } },
    interactions: { policy, url: (_context, interaction) => `${of.path}/sign-in/${interaction.uid}` },
    ttl: { AccessToken: 600, AuthorizationCode: 60, Grant: 3_600, IdToken: 600, Interaction: 600, Session: 3_600 },
    clientBasedCORS: () => false,
    async findAccount(_context, sub) {
      const person = people.get(sub)
      return person && { accountId: sub, claims: async () => ({ sub, ...claimsOf(person) }) }
    },
    // Grants every consent without asking.
    async loadExistingGrant(context) {
      const grant = new context.oidc.provider.Grant({
        clientId: context.oidc.client?.clientId,
        accountId: context.oidc.session?.accountId,
      })
      grant.addOIDCScope("openid email profile")
      await grant.save()
      return grant
    },
    async renderError(context, out) {
      context.type = "text/plain"
      context.body = `${out.error}: ${out.error_description ?? ""}\n`
    },
  })
  return { provider, key, issuer, clients, clock, connection: of.connection }
}
