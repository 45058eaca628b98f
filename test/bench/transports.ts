// What a call costs the server by each way in: CPU microseconds, and as a ratio of bare node:http in the same run.
import { fork } from "node:child_process"
import { once } from "node:events"
import { create, toBinary, toJsonString } from "@bufbuild/protobuf"
import { RefreshRequestSchema } from "@signet/proto/auth/v1/auth_service"
import { driver, type Load } from "./transports/load.ts"
import { paths, type Variant } from "./transports/variants.ts"

export interface Result {
  readonly name: string
  /** Median over the rounds. */
  readonly value: number
  readonly unit: string
  readonly ratio: number
  /** What the ratio is of. */
  readonly of: string
}

const message = create(RefreshRequestSchema, { refreshToken: "a short text of about fifty bytes, echoed as it is" })
const json = new TextEncoder().encode(toJsonString(RefreshRequestSchema, message))
const binary = toBinary(RefreshRequestSchema, message)
const framed = Uint8Array.of(0, 0, 0, 0, binary.length, ...binary)

type Form = Omit<Load, "url"> & { readonly path: string }
const form = (path: string, type: string, body: Uint8Array, isHttp2 = false): Form => ({
  path,
  body,
  isHttp2,
  headers: { "content-type": type, ...(type === "application/grpc" ? { te: "trailers" } : {}) },
})
const { rest, rpc } = paths
const grpc = form(rpc, "application/grpc", framed, true)
const grpcWeb = form(rpc, "application/grpc-web+proto", framed)
const connectJson = form(rpc, "application/json", json)
const connectBinary = form(rpc, "application/proto", binary)
const restJson = form(rest, "application/json", json)

const baseName = "node:http, JSON"
const contenders: [name: string, variant: Variant, form: Form][] = [
  [baseName, "node", restJson],
  ["Fastify route, JSON", "fastify", restJson],
  ["connect-fastify, Connect JSON", "connectFastify", connectJson],
  ["connect-fastify, Connect binary", "connectFastify", connectBinary],
  ["connect-fastify, gRPC-Web", "connectFastify", grpcWeb],
  ["connect-fastify, gRPC", "connectFastifyHttp2", grpc],
  ["grpc-js, gRPC", "grpcJs", grpc],
  ["ours, REST", "ours", restJson],
  ["ours, Connect JSON", "ours", connectJson],
  ["ours, Connect binary", "ours", connectBinary],
  ["ours, gRPC-Web", "ours", grpcWeb],
  ["ours, gRPC", "ours", grpc],
]

export const sizes = { usual: { rounds: 5, calls: 1_000 }, smallest: { rounds: 1, calls: 10 } }

/** Contenders take turns, so that noise hits all alike. */
export async function run({ rounds, calls }: typeof sizes.usual): Promise<Result[]> {
  const servers = new Map<Variant, Awaited<ReturnType<typeof startServer>>>()
  try {
    for (const [, variant] of contenders) if (!servers.has(variant)) servers.set(variant, await startServer(variant))
    const times = new Map(contenders.map(([name]) => [name, [] as number[]]))
    // The first round warms everything up and is not counted.
    for (let round = 0; round <= rounds; round++) {
      for (const [name, variant, { path, ...load }] of contenders) {
        const server = servers.get(variant)
        if (server === undefined) continue
        const client = driver({ ...load, url: `http://127.0.0.1:${server.port}${path}` })
        const before = await server.cpuMicroseconds()
        await client.calls(round === 0 ? 2 * calls : calls)
        const after = await server.cpuMicroseconds()
        client.close()
        if (round > 0) times.get(name)?.push((after - before) / calls)
      }
    }
    const base = median(times.get(baseName) ?? [])
    return contenders.map(([name]) => {
      const value = median(times.get(name) ?? [])
      return { name, value, unit: "µs CPU/call", ratio: value / base, of: baseName }
    })
  } finally {
    for (const server of servers.values()) server.close()
  }
}

async function startServer(variant: Variant) {
  const child = fork(new URL("./transports/server.ts", import.meta.url), [variant], { stdio: ["ignore", 2, 2, "ipc"] })
  const told = async (name: "port" | "cpuMicroseconds"): Promise<number> => {
    const [message] = await once(child, "message")
    return message[name]
  }
  const port = await told("port")
  return {
    port,
    cpuMicroseconds() {
      const answer = told("cpuMicroseconds")
      child.send("cpu")
      return answer
    },
    close: () => child.disconnect(),
  }
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
