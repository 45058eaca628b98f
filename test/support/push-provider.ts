// A FAKE push provider on loopback, for tests. It behaves as the specifications say and as real providers do: 201 for an
// accepted push, 404 or 410 for an ended subscription, 429 with Retry-After, 5xx. No real provider is contacted.
import { generateKeyPairSync } from "node:crypto"
import { createServer, type IncomingHttpHeaders } from "node:http"
import type { AddressInfo } from "node:net"
import type { PushSettings } from "../../server/pushes/push-settings.ts"

interface ReceivedPush {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

interface FakeAnswer {
  readonly status: number
  readonly retryAfter?: string
  readonly location?: string
}

export interface FakePushProvider {
  /** Base of subscription URLs. */
  readonly url: string
  readonly received: ReceivedPush[]
  /** The answers to the next pushes; afterwards 201. */
  answer(...next: readonly FakeAnswer[]): void
  close(): Promise<void>
}

/** Settings of an operator who allows the fake provider only. */
export function pushSettings(): PushSettings {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  const key = privateKey.export({ type: "pkcs8", format: "der" }).toString("base64")
  return { hosts: ["127.0.0.1"], key, contact: "mailto:operator@auth.example" }
}

export async function startFakePushProvider(): Promise<FakePushProvider> {
  const received: ReceivedPush[] = []
  const answers: FakeAnswer[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      received.push({ path: request.url ?? "", headers: request.headers, body: Buffer.concat(chunks) })
      const { status, retryAfter, location }: FakeAnswer = answers.shift() ?? { status: 201 }
      response
        .writeHead(status, { ...(retryAfter && { "retry-after": retryAfter }), ...(location && { location }) })
        .end()
    })
  })
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    answer: (...next) => void answers.push(...next),
    async close() {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}
