// oidc-provider with its memory adapter: secret check and ES256 JWT; nothing is written.
import { generateKeyPairSync } from "node:crypto"
import type { AddressInfo } from "node:net"
import Provider, { type Configuration } from "oidc-provider"
import { basic, type FormRequest, serveMeasured } from "./measured.ts"

const [, , callers = "16"] = process.argv
const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
const clients = Array.from({ length: Number(callers) }, (_, i) => ({
  id: `client-${i}`,
  secret: `secret-${i}-0123456789`,
}))
const configuration: Configuration = {
  clients: clients.map(({ id, secret }) => ({
    client_id: id,
    client_secret: secret,
    grant_types: ["client_credentials"],
    response_types: [],
    redirect_uris: [],
    id_token_signed_response_alg: "ES256",
  })),
  jwks: { keys: [{ ...privateKey.export({ format: "jwk" }), alg: "ES256", use: "sig", kid: "k1" }] },
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    introspection: { enabled: true },
    resourceIndicators: {
      enabled: true,
      // A JWT is kept nowhere and cannot be introspected there; what it can introspect is an opaque token.
      getResourceServerInfo: (_, resource) =>
        resource === "urn:svc:notes"
          ? { scope: "notes.read", accessTokenFormat: "jwt", jwt: { sign: { alg: "ES256" } } }
          : { scope: "notes.read", accessTokenFormat: "opaque" },
    },
  },
}
const provider = new Provider("http://127.0.0.1", configuration)
const server = provider.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  const requests: Record<string, FormRequest> = {}
  for (const [i, { id, secret }] of clients.entries()) {
    const headers = basic(id, secret)
    const form = { grant_type: "client_credentials", scope: "notes.read" }
    requests[`token ${i}`] = { url: `${url}/token`, headers, form: { ...form, resource: "urn:svc:notes" } }
    requests[`opaque ${i}`] = { url: `${url}/token`, headers, form: { ...form, resource: "urn:svc:opaque" } }
    requests[`introspect ${i}`] = { url: `${url}/token/introspection`, headers, form: {} }
  }
  serveMeasured({ requests })
})
