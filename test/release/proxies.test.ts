// The samples of deploy/proxies in front of the real server: every protocol passes, streams are not collected, and the
// server counts the address of the client, which no header can change.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { request } from "node:https"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createClient, type Transport } from "@connectrpc/connect"
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node"
import { defaultLimits, type Limits } from "@signet/kernel/limits/policy"
import { AuthService } from "@signet/proto/auth/v1/auth_service"
import { RevocationService } from "@signet/proto/auth/v1/revocation_service"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { makeCertificate } from "../support/certificate.ts"
import { bearer, refusal } from "../support/clients.ts"
import { isLong } from "../support/effort.ts"
import { addReader } from "../support/followed.ts"
import { basic, postForm } from "../support/machines.ts"
import { claimsOf } from "../support/people.ts"
import { storyStore } from "../support/postgres.ts"
import { startTestServer, type TestServer } from "../support/server.ts"
import { hasProxy, proxies, type RunningProxy, startProxy } from "./proxy.ts"

const certificate = isLong ? makeCertificate() : undefined
const ca = certificate?.cert ?? ""
const limits: Limits = {
  ...defaultLimits,
  windows: { ...defaultLimits.windows, sign_in_options: { ip: { limit: 3, seconds: 60 } } },
}

const transports: Record<string, (baseUrl: string) => Transport> = {
  "Connect over HTTP/1.1": (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "1.1", nodeOptions: { ca } }),
  "Connect over HTTP/2": (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "2", nodeOptions: { ca } }),
  gRPC: (baseUrl) => createGrpcTransport({ baseUrl, nodeOptions: { ca } }),
  "gRPC-Web": (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1", nodeOptions: { ca } }),
}
const named = (name: string, baseUrl: string) => (transports[name] ?? expect.unreachable)(baseUrl)

function reasonToSkip(name: string): string {
  if (!isLong) return "npm run test:long starts it"
  if (certificate === undefined) return "no openssl"
  return hasProxy(name) ? "" : `no ${name}`
}

describe.each(proxies)("%s", (name) => {
  const skipped = reasonToSkip(name)
  describe.skipIf(skipped !== "")(`in front of the server${skipped && ` (skipped: ${skipped})`}`, () => {
    const folder = mkdtempSync(join(tmpdir(), "signet-proxy-"))
    let server: TestServer
    let proxy: RunningProxy
    let reader: { headers: Record<string, string> }

    beforeAll(async () => {
      if (certificate === undefined) throw new Error("no certificate")
      server = await startTestServer({ store: storyStore, trustedHops: 1, limits, isClockStopped: true })
      const own = join(folder, "proxy")
      mkdirSync(own)
      proxy = await startProxy(name, { upstream: server.port, folder: own, certificate })
      const form = { grant_type: "client_credentials", audience: "auth", scope: "auth.revocations.read" }
      const { body } = await postForm(`${server.url}/auth/token`, form, basic(await addReader(server)))
      reader = bearer(String(body.access_token))
    })
    afterAll(async () => {
      await proxy?.stop()
      await server?.close()
      rmSync(folder, { recursive: true, force: true })
    })

    test.each(Object.keys(transports))("%s: sign-in, a call and a refusal with its reason", async (protocol) => {
      const auth = createClient(AuthService, named(protocol, proxy.url))
      const { accessToken, principal } = await auth.externalLogin(await server.login(`ada of ${protocol}`))
      expect((await auth.me({}, bearer(accessToken))).principal?.id).toBe(principal?.id)
      expect(await refusal(auth.me({}))).toBe("Unauthenticated NO_CREDENTIAL")
    })

    test("REST: a call and a refusal with its reason", async () => {
      const auth = createClient(AuthService, named("gRPC", proxy.url))
      const { accessToken, principal } = await auth.externalLogin(await server.login("ada of REST"))
      const me = await get("/auth/session/me", bearer(accessToken).headers)
      expect(me).toMatchObject({ status: 200, body: expect.stringContaining(principal?.id ?? "no principal") })
      expect(await get("/auth/session/me")).toMatchObject({
        status: 401,
        body: expect.stringContaining("NO_CREDENTIAL"),
      })
      expect((await get("/readyz")).status).toBe(200)
    })

    test.each(["Connect over HTTP/1.1", "Connect over HTTP/2", "gRPC", "gRPC-Web"])(
      "%s: a stream delivers each message when it is sent",
      async (protocol) => {
        const aborted = new AbortController()
        const client = createClient(RevocationService, named(protocol, proxy.url))
        const stream = client.watchRevocations({}, { ...reader, signal: aborted.signal })
        const messages = stream[Symbol.asyncIterator]()
        const next = async () => claimsOf((await messages.next()).value?.statement ?? "")
        const first = await next()
        expect(first).toHaveProperty("head")
        for (const key of ["jti_one", "jti_two"]) {
          const expiresAtMs = server.deps.clock.nowMs() + 900_000
          const revoked = `${key} of ${protocol}`
          const arriving = untilRevoked(next, revoked)
          await server.deps.store.transaction((tx) =>
            tx.revocations.add([{ kind: "TOKEN", key: revoked, expiresAtMs }]),
          )
          await arriving
        }
        aborted.abort()
        await messages.next().catch(() => undefined)
      },
    )

    test("the limits of an address count the client's, whatever the client claims", async () => {
      const path = `/auth/sign-in-options?appId=${server.app.id}&platform=WEB`
      const from = (localAddress: string, claimed: string) => get(path, { "x-forwarded-for": claimed }, localAddress)
      const nodeOptions = { ca, localAddress: "127.0.0.2" }
      const overGrpc = createGrpcTransport({ baseUrl: proxy.url, nodeOptions })
      const auth = createClient(AuthService, overGrpc)
      const ask = () =>
        auth.listSignInOptions({ appId: server.app.id, platform: 3 }, { headers: { "x-forwarded-for": "9.9.9.9" } })
      await ask()
      expect((await from("127.0.0.2", "1.1.1.1")).status).toBe(200)
      expect((await from("127.0.0.2", "2.2.2.2, 3.3.3.3")).status).toBe(200)
      expect((await from("127.0.0.2", "4.4.4.4")).status).toBe(429)
      expect(await refusal(ask())).toBe("ResourceExhausted RATE_LIMITED")
      expect((await from("127.0.0.3", "127.0.0.2")).status).toBe(200)
    })

    /** A GET over HTTP/1.1 from a loopback address. */
    function get(path: string, headers: Record<string, string> = {}, localAddress = "127.0.0.1") {
      return new Promise<{ status: number | undefined; body: string }>((resolve, reject) => {
        const asked = request(proxy.url + path, { ca, headers, localAddress, agent: false }, (response) => {
          let body = ""
          response.setEncoding("utf8").on("data", (text: string) => {
            body += text
          })
          response.on("end", () => resolve({ status: response.statusCode, body }))
        })
        asked.on("error", reject).end()
      })
    }
  })
})

/** Reads statements until one has the revocation. A proxy that collects messages never delivers it. */
async function untilRevoked(next: () => Promise<object>, key: string): Promise<void> {
  const late = new Promise<never>((_, reject) => setTimeout(reject, 20_000, new Error(`${key} did not arrive`)).unref())
  const found = async () => {
    while (!JSON.stringify(await next()).includes(key));
  }
  await Promise.race([found(), late])
}
