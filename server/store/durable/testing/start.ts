// Starts the objects in the real runtime, with the store in this process in place of a Worker.
import { existsSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { nowMs } from "@signet/kernel/messaging/testing/records"
import { Miniflare } from "miniflare"
import { buildWorker } from "../../../edge/node/build.ts"
import type { Calls, DurableEnv } from "../env.ts"
import { fromText, toText } from "../plain.ts"
import type { Done, Insides, Probe, World } from "./worker.ts"

/** In memory, without disk latency. The tests in test/edge that kill processes cover durability. */
const memoryDisk = "/dev/shm"

const classes = {
  CONVERSATIONS: "Conversation",
  DEVICES: "Device",
  USERS: "User",
  NAMES: "Name",
  ATTACHMENTS: "Attachment",
  PLACES: "Place",
  PROBES: "Probe",
} satisfies Record<keyof TestedEnv, string>

/** An object for tests: its methods and its internals. */
type Tested<Called> = Called & Calls<Insides>
interface TestedObjects<Called> {
  getByName(name: string): Tested<Called>
}
type TestedEnv = {
  readonly [Name in keyof DurableEnv]: TestedObjects<ReturnType<DurableEnv[Name]["getByName"]>>
} & { readonly PROBES: TestedObjects<Calls<Probe>> }

export interface StartedObjects {
  /** The Worker's environment. Method calls go to the runtime and back. */
  readonly env: TestedEnv
  /** The effects that the objects had, after setting this: see worker.ts. */
  world(set?: Partial<World>): Promise<Done>
  /** A URL of the Worker. */
  address(path: string): URL
  /** Stops the runtime and starts it again on its stored data. */
  restart(change?: { probeSteps: readonly string[] }): Promise<void>
  close(): Promise<void>
}

/** @param script A Worker with the objects and answers of worker.ts, and further paths of its own. */
export async function startObjects(
  probeSteps: readonly string[] = [],
  script = join(import.meta.dirname, "worker.ts"),
): Promise<StartedObjects> {
  const folder = await mkdtemp(join(existsSync(memoryDisk) ? memoryDisk : tmpdir(), "signet-objects-"))
  const { code } = await buildWorker(script)
  const start = (steps: readonly string[]) =>
    new Miniflare({
      modules: [{ type: "ESModule", path: "worker.mjs", contents: code }],
      compatibilityDate: "2026-06-01",
      compatibilityFlags: ["nodejs_compat", "enable_request_signal"],
      host: "127.0.0.1",
      cf: false,
      durableObjects: Object.fromEntries(
        Object.entries(classes).map(([binding, className]) => [binding, { className, useSQLite: true }]),
      ),
      durableObjectsPersist: folder,
      bindings: { SKEW_MS: nowMs - Date.now(), PROBE_STEPS: [...steps] },
    })
  let miniflare = start(probeSteps)
  let url = await miniflare.ready

  async function post(path: string, body: unknown): Promise<string> {
    // One connection per call: the runtime closes idle ones, perhaps while the next call is sent.
    const headers = { connection: "close" }
    const response = await fetch(new URL(path, url), { method: "POST", body: toText(body), headers })
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`)
    return response.text()
  }

  async function call(
    namespace: keyof TestedEnv,
    name: string,
    method: string,
    args: readonly unknown[],
  ): Promise<unknown> {
    type Answer = { answer?: unknown; fault?: { message: string } }
    const { answer, fault } = fromText<Answer>(await post("/", { namespace, name, method, args }))
    if (fault !== undefined) throw Object.assign(new Error(fault.message), fault)
    return answer
  }

  const objects = <Called>(namespace: keyof TestedEnv): TestedObjects<Called> => ({
    getByName: (name) =>
      // The runtime knows the object's methods, so every property is a call.
      new Proxy({} as Tested<Called>, {
        get:
          (_, method) =>
          (...args: unknown[]) =>
            call(namespace, name, String(method), args),
      }),
  })

  return {
    env: {
      CONVERSATIONS: objects("CONVERSATIONS"),
      DEVICES: objects("DEVICES"),
      USERS: objects("USERS"),
      NAMES: objects("NAMES"),
      ATTACHMENTS: objects("ATTACHMENTS"),
      PLACES: objects("PLACES"),
      PROBES: objects("PROBES"),
    },
    world: async (set = {}) => fromText(await post("/world", set)),
    address: (path) => new URL(path, url),
    async restart(change) {
      await miniflare.dispose()
      miniflare = start(change?.probeSteps ?? probeSteps)
      url = await miniflare.ready
    },
    async close() {
      await miniflare.dispose()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
