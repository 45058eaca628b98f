// Standard OAuth clients against the token endpoint, unmodified.
import type { KeyObject } from "node:crypto"
import * as oauth from "oauth4webapi"
import * as oidc from "openid-client"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { bearer, clientsOver, protocols } from "../support/clients.ts"
import { addMachine, addPat, addPolicy, type Machine } from "../support/machines.ts"
import { describeStory } from "../support/postgres.ts"
import { startTestServer, type TestServer } from "../support/server.ts"

const accessTokenType = "urn:ietf:params:oauth:token-type:access_token"
const patType = "urn:signet:params:oauth:token-type:pat"
const exchangeGrant = "urn:ietf:params:oauth:grant-type:token-exchange"

describeStory("a stock OAuth client", (kind) => {
  let server: TestServer
  let gateway: Machine
  let notes: Machine
  const insecure = { [oauth.allowInsecureRequests]: true } as const

  beforeAll(async () => {
    server = await startTestServer({ store: kind })
    // A sign-in gets the user's token for the gateway, so the app's audiences must contain it.
    await server.deps.store.transaction((tx) =>
      tx.apps.putApp({ ...server.app, audiences: ["svc-notes", "svc-gateway"] }),
    )
    gateway = await addMachine(server, { ownedAudiences: ["svc-gateway"], allowedAudiences: ["svc-notes", "auth"] })
    notes = await addMachine(server, { ownedAudiences: ["svc-notes"], scopes: ["auth.introspect"] })
    await addPolicy(server, gateway)
  })
  afterAll(() => server?.close())

  async function user() {
    const clients = clientsOver(protocols["Connect JSON over HTTP/1.1"]?.(server.url) ?? fail())
    const login = { ...(await server.login(`person ${Math.random()}`)), audiences: ["svc-gateway", "auth"] }
    const signedIn = await clients.auth.externalLogin(login)
    return { ...signedIn, clients }
  }

  const importKey = (key: KeyObject) =>
    crypto.subtle.importKey(
      "pkcs8",
      key.export({ format: "der", type: "pkcs8" }),
      { name: "ECDSA", namedCurve: "P-256" },
      false,
      ["sign"],
    )

  describe("oauth4webapi", () => {
    let as: oauth.AuthorizationServer
    beforeAll(async () => {
      // The test server's issuer is not its address, so the metadata is read and its endpoints are changed.
      const response = await fetch(`${server.url}/.well-known/oauth-authorization-server`)
      as = moved(await oauth.processDiscoveryResponse(new URL("https://auth.example"), response), server.url)
    })

    test.each(["client_secret_basic", "client_secret_post", "private_key_jwt"] as const)(
      "gets a token by %s",
      async (method) => {
        const client: oauth.Client = { client_id: gateway.account.clientId }
        const authentication = {
          client_secret_basic: () => oauth.ClientSecretBasic(gateway.secret),
          client_secret_post: () => oauth.ClientSecretPost(gateway.secret),
          private_key_jwt: async () =>
            oauth.PrivateKeyJwt({ key: await importKey(gateway.privateKey), kid: gateway.kid }),
        }
        const parameters = { audience: "svc-notes", scope: "notes.read notes.admin" }
        const response = await oauth.clientCredentialsGrantRequest(
          as,
          client,
          await authentication[method](),
          parameters,
          insecure,
        )
        const answer = await oauth.processClientCredentialsResponse(as, client, response)
        expect(answer).toMatchObject({
          token_type: "bearer",
          expires_in: 600,
          scope: "notes.read",
          audience: "svc-notes",
        })
        expect(answer.issued_token_type).toBe(accessTokenType)
      },
    )

    test("exchanges, introspects and revokes", async () => {
      const { accessTokens } = await user()
      const actor: oauth.Client = { client_id: gateway.account.clientId }
      const request = {
        subject_token: accessTokens["svc-gateway"] ?? "",
        subject_token_type: accessTokenType,
        audience: "svc-notes",
        scope: "notes.read",
        job_id: "job-1",
      }
      const secret = oauth.ClientSecretBasic(gateway.secret)
      const response = await oauth.genericTokenEndpointRequest(as, actor, secret, exchangeGrant, request, insecure)
      const { access_token: token, expires_in } = await oauth.processGenericTokenEndpointResponse(as, actor, response)
      expect(expires_in).toBe(300)

      const service: oauth.Client = { client_id: notes.account.clientId }
      const introspected = async () =>
        oauth.processIntrospectionResponse(
          as,
          service,
          await oauth.introspectionRequest(as, service, oauth.ClientSecretPost(notes.secret), token, insecure),
        )
      expect(await introspected()).toMatchObject({
        active: true,
        aud: "svc-notes",
        scope: "notes.read",
        principal_type: "user",
        job_id: "job-1",
        act: { client_id: gateway.account.clientId, principal_type: "service", sub: gateway.account.principalId },
      })
      await oauth.processRevocationResponse(await oauth.revocationRequest(as, actor, secret, token, insecure))
      expect(await introspected()).toEqual({ active: false })
    })
  })

  test("openid-client gets, exchanges, introspects and revokes tokens", async () => {
    const signedIn = await user()
    const { token } = await addPat(server, await ids(server, signedIn.accessTokens.auth ?? ""))
    const configured = (machine: Machine, authentication: oidc.ClientAuth) => {
      const metadata = moved({ issuer: "https://auth.example" }, server.url)
      const config = new oidc.Configuration(metadata, machine.account.clientId, undefined, authentication)
      oidc.allowInsecureRequests(config)
      return config
    }
    const key = await importKey(gateway.privateKey)
    for (const authentication of [
      oidc.ClientSecretBasic(gateway.secret),
      oidc.ClientSecretPost(gateway.secret),
      oidc.PrivateKeyJwt({ key, kid: gateway.kid }),
    ]) {
      const answer = await oidc.clientCredentialsGrant(configured(gateway, authentication), { audience: "svc-notes" })
      expect(answer).toMatchObject({ token_type: "bearer", scope: "notes.read" })
    }
    const anyone = configured(gateway, oidc.None())
    const exchanged = await oidc.genericGrantRequest(anyone, exchangeGrant, {
      subject_token: token,
      subject_token_type: patType,
    })
    expect(exchanged).toMatchObject({ scope: "notes.read", audience: "svc-notes", issued_token_type: accessTokenType })
    const service = configured(notes, oidc.ClientSecretBasic(notes.secret))
    expect(await oidc.tokenIntrospection(service, exchanged.access_token)).toMatchObject({ active: true, gty: "pat" })
    await oidc.tokenRevocation(anyone, token)
    expect(await oidc.tokenIntrospection(service, exchanged.access_token)).toEqual({ active: false })
    await expect(
      oidc.genericGrantRequest(anyone, exchangeGrant, { subject_token: token, subject_token_type: patType }),
    ).rejects.toMatchObject({ error: "invalid_grant" })
  })
})

function fail(): never {
  throw new Error("no such protocol")
}

/** The ids in an access token. */
async function ids(server: TestServer, token: string) {
  const clients = clientsOver(protocols.gRPC?.(server.url) ?? fail())
  const me = await clients.auth.me({}, bearer(token))
  const { parseId } = await import("@signet/kernel/ids")
  const principalId = parseId("prn", me.principal?.id ?? "")
  const identityId = parseId("idn", me.identity?.id ?? "")
  if (!principalId || !identityId) throw new Error("nobody")
  return { principalId, identityId }
}

/** The metadata with the server's own address in each endpoint. */
function moved(as: { issuer: string }, url: string) {
  return {
    ...as,
    token_endpoint: `${url}/auth/token`,
    introspection_endpoint: `${url}/auth/token/introspect`,
    revocation_endpoint: `${url}/auth/token/revoke`,
  }
}
