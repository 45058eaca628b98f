// A gateway for tests, and a target that answers as a test defines.
import http, { type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { AuthService } from "@signet/proto/auth/v1/auth_service"
import { SessionService } from "@signet/proto/auth/v1/session_service"
import { TokenService } from "@signet/proto/auth/v1/token_service"
import { Health } from "@signet/proto/grpc/health/v1/health"
import { createGateway, type GatewayOptions } from "../gateway/gateway.ts"

export interface RunningGateway {
  readonly url: string
  readonly port: number
  readonly faults: unknown[]
  close(): Promise<void>
}

export async function startGateway(to: string, options: Partial<GatewayOptions> = {}): Promise<RunningGateway> {
  const faults: unknown[] = []
  const gateway = createGateway({
    to: new URL(to),
    services: [AuthService, SessionService, TokenService, Health],
    onFault: (fault) => void faults.push(fault),
    ...options,
  })
  const port = await listening(gateway.server)
  const scheme = options.listener?.tls ? "https" : "http"
  return { url: `${scheme}://127.0.0.1:${port}`, port, faults, close: () => gateway.close() }
}

export interface Behind {
  readonly url: string
  /** The received requests with their bodies. */
  readonly seen: Seen[]
  /** One promise per call, in order; resolves when its caller disconnects. */
  readonly gone: Promise<void>[]
  close(): Promise<void>
}

export interface Seen {
  readonly url: string
  readonly headers: http.IncomingHttpHeaders
  readonly raw: readonly string[]
  readonly body: Buffer
}

/** Starts a target with the given answers. */
export async function startBehind(answer: (seen: Seen, response: ServerResponse) => unknown): Promise<Behind> {
  const seen: Seen[] = []
  const gone: Promise<void>[] = []
  const server = http.createServer(async (request: IncomingMessage, response) => {
    gone.push(new Promise((resolve) => response.once("close", () => !response.writableFinished && resolve())))
    const chunks: Buffer[] = []
    try {
      for await (const chunk of request) chunks.push(chunk)
    } catch {
      return
    }
    const { url = "", headers, rawHeaders } = request
    const one = { url, headers, raw: rawHeaders, body: Buffer.concat(chunks) }
    seen.push(one)
    await answer(one, response)
  })
  const port = await listening(server)
  return {
    url: `http://127.0.0.1:${port}`,
    seen,
    gone,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function listening(server: http.Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  return port
}
