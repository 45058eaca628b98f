import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { text } from "node:stream/consumers"
import { expect, onTestFinished, test } from "vitest"
import { createServiceClient, serviceScopes } from "./service-client.ts"
import { parseSettings } from "./settings.ts"

test("the backend's own token is for the auth service's audience, with the backend's scopes", async () => {
  const forms: URLSearchParams[] = []
  const auth = createServer(async (request, response) => {
    if (request.url !== "/auth/token") return void response.end(`${request.url} ${request.headers.authorization}`)
    forms.push(new URLSearchParams(await text(request)))
    response.end(JSON.stringify({ access_token: "own", expires_in: 600 }))
  })
  await new Promise<void>((resolve) => void auth.listen(0, "127.0.0.1", resolve))
  onTestFinished(() => void auth.close())
  const secret = Buffer.alloc(32, 7).toString("base64")
  const settings = parseSettings({
    SIGNET_PROFILE: "development",
    SIGNET_ISSUER: "https://auth.example",
    SIGNET_AUTH_URL: `http://127.0.0.1:${(auth.address() as AddressInfo).port}`,
    SIGNET_AUTH_AUDIENCE: "identity",
    SIGNET_MESSAGING_AUDIENCE: "chat",
    SIGNET_ROOT_KEY: secret,
    SIGNET_CLIENT_ID: "sva_1",
    SIGNET_CLIENT_SECRET: "secret",
    SIGNET_RECEIPT_KEY: secret,
    SIGNET_SEALING_KEY: secret,
    SIGNET_PEPPERS: `1:${secret}`,
  })
  const { readText } = createServiceClient(settings, { nowMs: () => Date.now() })
  expect(await readText("/auth/revocations?after=0&wait=0")).toBe("/auth/revocations?after=0&wait=0 Bearer own")
  expect(forms.map((form) => Object.fromEntries(form))).toMatchObject([
    { grant_type: "client_credentials", audience: "identity", scope: serviceScopes },
  ])
})
