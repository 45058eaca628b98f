// The stand-in for IDP_B on its own loopback port, and its tokens with changes by the test.
import { createHash } from "node:crypto"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import type { Secrets } from "@signet/kernel/keys/ports"
import type { Clock } from "@signet/kernel/ports"
import type { Platform, ProviderClient } from "@signet/kernel/records"
import { createDevelopmentIdpB } from "../../server/development/idp-b.ts"
import { buildIdpBClients, idpBPath } from "../../server/development/idp-b-clients.ts"
import type { SigningAlgorithm } from "../../server/development/idp-b-keys.ts"
import { type IdpBPerson, idpBSubjectOf } from "../../server/development/idp-b-person.ts"
import type { IdpBState, Switches } from "../../server/development/idp-b-state.ts"

export interface MintBOptions {
  platform?: Platform
  claims?: Record<string, unknown>
  /** Claims to omit. */
  without?: readonly string[]
  header?: Record<string, unknown>
  alg?: SigningAlgorithm
}

export interface FakeIdpB {
  readonly state: IdpBState
  readonly switches: Switches
  /** Number of requests to each endpoint, by path. */
  readonly asked: Record<string, number>
  clientOf(platform: Platform, change?: Partial<ProviderClient>): ProviderClient
  /** An identity token of `ada` with the nonce "n-1", in the form of the platform, with changes. */
  mint(options?: MintBOptions): Promise<string>
  /** A notification for the platform's client, with changes; `event` replaces members of the event. */
  notify(options?: MintBOptions & { event?: Record<string, unknown> }): Promise<string>
  /** A code as the provider issues it, with the nonce "n-1". */
  issueCode(options?: { platform?: Platform; person?: IdpBPerson; redirectUri?: string }): string
  stop(): Promise<void>
}

export const ada: IdpBPerson = { email: "ada@example.com", name: "Ada Lovelace", hidesEmail: false }
export const adaSubject = idpBSubjectOf(ada)

export async function startFakeIdpB(options: { clock: Clock; secrets: Pick<Secrets, "seal"> }): Promise<FakeIdpB> {
  let origin = ""
  const standIn = createDevelopmentIdpB({ profile: "development", origin: () => origin, clock: options.clock })
  const server = createServer((request, response) => {
    const path = (request.url ?? "").slice(idpBPath.length)
    idp.asked[path] = (idp.asked[path] ?? 0) + 1
    standIn.handle(request, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const state = await standIn.state()
  const clients = buildIdpBClients(origin, standIn.teamKey.privatePem, options.secrets)

  function clientOf(platform: Platform, change: Partial<ProviderClient> = {}): ProviderClient {
    const client = clients.find((one) => one.platform === platform)
    if (client === undefined) throw new Error(`no client for ${platform}`)
    return { ...client, ...change }
  }
  const nonceOf = ({ nonceMode }: ProviderClient) =>
    nonceMode === "RAW" ? "n-1" : createHash("sha256").update("n-1").digest("hex")

  function sign(usual: Record<string, unknown>, { claims = {}, without = [], header, alg }: MintBOptions) {
    const kept = Object.entries({ ...usual, ...claims }).filter(([name]) => !without.includes(name))
    return state.keys.sign(Object.fromEntries(kept), { ...(alg && { alg }), ...(header && { header }) })
  }
  const nowSeconds = () => Math.floor(options.clock.nowMs() / 1000)

  const idp: FakeIdpB = {
    state,
    switches: standIn.switches,
    asked: {},
    clientOf,
    async mint(minting = {}) {
      const client = clientOf(minting.platform ?? "WEB")
      const iat = nowSeconds()
      const usual = {
        iss: state.issuer(),
        aud: client.clientId,
        sub: adaSubject,
        nonce: nonceOf(client),
        nonce_supported: true,
        iat,
        exp: iat + 86_400,
        auth_time: iat,
        email: ada.email,
        email_verified: "true",
      }
      return sign(usual, minting)
    },
    async notify({ event = {}, ...minting } = {}) {
      const iat = nowSeconds()
      const usual = {
        iss: state.issuer(),
        aud: clientOf(minting.platform ?? "WEB").clientId,
        iat,
        exp: iat + 86_400,
        jti: "jti-1",
        events: JSON.stringify({ type: "consent-revoked", sub: adaSubject, event_time: iat * 1000, ...event }),
      }
      return sign(usual, minting)
    },
    issueCode({ platform = "WEB", person = ada, redirectUri } = {}) {
      const client = clientOf(platform)
      const sentTo = redirectUri ?? client.redirectUris[0] ?? ""
      return state.grants.issueCode({ clientId: client.clientId, person, redirectUri: sentTo, nonce: nonceOf(client) })
    },
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return idp
}
