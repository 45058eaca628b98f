// The Worker on workerd with an auth service in a separate process and the gateway in front. Clients know only the
// URLs.
import { mkdtempSync, rmSync } from "node:fs"
import { join } from "node:path"
import { type Bundle, buildWorker, entry } from "../../server/edge/node/build.ts"
import { createGateway } from "../../server/edge/node/gateway/gateway.ts"
import { type Edge, messagingAudience, startEdge } from "../../server/edge/node/local.ts"
import { messagingServices } from "../../server/rpc/messaging/routes.ts"
import { fastTmpdir } from "./fast-tmpdir.ts"
import { freePort } from "./free-port.ts"
import { startProgram } from "./program.ts"

export interface ServedEdge {
  /** URL of the Worker: HTTP/1.1. */
  readonly url: string
  /** URL of the gateway: also HTTP/2 and native gRPC. */
  readonly http2Url: string
  readonly authUrl: string
  readonly audience: string
  readonly edge: Edge
  close(): Promise<void>
}

interface EdgeServerOptions {
  /** The auth service's empty PostgreSQL database; default is PGlite. */
  readonly databaseUrl?: string
  /** SIGNET_LIMITS; default is `off`. */
  readonly limits?: string
  readonly settings?: Readonly<Record<string, string>>
  readonly onLine?: (line: string) => void
  /** A Worker other than the deployed one. */
  readonly entry?: string
}

const bundled = new Map<string, Promise<Bundle>>()

/** The bundle, built once per process. */
export function workerBundle(from: string = entry): Promise<Bundle> {
  const made = bundled.get(from) ?? buildWorker(from)
  bundled.set(from, made)
  return made
}

export async function serveEdge(options: EdgeServerOptions = {}): Promise<ServedEdge> {
  const { databaseUrl, limits = "off", settings, onLine } = options
  const folder = mkdtempSync(join(fastTmpdir(), "signet-edge-"))
  const closing: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })]
  const close = async () => {
    for (const one of closing.splice(0).toReversed()) await one()
  }
  try {
    const bundle = await workerBundle(options.entry)
    const auth = await startProgram({
      SIGNET_PROFILE: "development",
      SIGNET_LIMITS: limits,
      SIGNET_MESSAGING_AUDIENCE: messagingAudience,
      SIGNET_DATA: join(folder, "auth"),
      PORT: String(await freePort()),
      ...(databaseUrl ? { DATABASE_URL: databaseUrl } : {}),
    })
    closing.push(() => auth.end("SIGTERM"))
    const edge = await startEdge({
      persist: join(folder, "edge"),
      authUrl: auth.url,
      limits,
      bundle,
      ...(settings ? { settings } : {}),
      ...(onLine ? { onLine } : {}),
    })
    closing.push(() => edge.close())
    const gateway = createGateway({ to: new URL(edge.url), services: messagingServices, drainMs: 500, onFault() {} })
    const port = await freePort()
    await new Promise<void>((resolve) => gateway.server.listen(port, "127.0.0.1", resolve))
    closing.push(() => gateway.close())
    return {
      url: edge.url,
      http2Url: `http://127.0.0.1:${port}`,
      authUrl: auth.url,
      audience: messagingAudience,
      edge,
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}
