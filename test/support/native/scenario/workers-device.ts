// A Worker with one device in a Durable Object. Files cross with the step that needs them.
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { clientOf, openWorkersCore, type WorkersCoreOptions } from "@signet/client-native/workers"
import { type DeviceOptions, pathOf, type ScenarioClient, type StepName, stepOf } from "./client.ts"
import bytecode from "./core.bc"
import { scenarioOverCore } from "./over-core.ts"
import engine from "./quickjs.wasm"

export interface WorkersStep {
  readonly step: StepName
  readonly args: readonly string[]
  /** The content of the file that an argument names, in base64. */
  readonly file?: string
}

export type WorkersAnswer =
  | { readonly ok: unknown; readonly file?: string }
  | { readonly failed: { readonly reason?: string; readonly message?: string } }

interface Env {
  readonly OPTIONS: string
  readonly DEVICE: {
    idFromName(name: string): unknown
    get(id: unknown): { fetch(request: Request): Promise<Response> }
  }
}

/** In the virtual file system of the object, which is in memory: the platform has no files. */
const path = "/tmp/file"

export class Device {
  readonly #steps: Promise<ScenarioClient>

  constructor({ storage }: Pick<WorkersCoreOptions, "storage">, { OPTIONS }: Env) {
    const options: DeviceOptions = JSON.parse(OPTIONS)
    const { appId, authUrl: authBaseUrl, audience } = options
    this.#steps = openWorkersCore({
      ...{ module: engine, bytecode, storage, secretKey: new Uint8Array(32).fill(7) },
      identity: { appId, authBaseUrl, providers: ["IDP_A"], audiences: [audience] },
    }).then((core) => scenarioOverCore(clientOf(core), options))
  }

  async fetch(request: Request): Promise<Response> {
    const { step, args, file } = (await request.json()) as WorkersStep
    rmSync(path, { force: true })
    if (file !== undefined) writeFileSync(path, Buffer.from(file, "base64"))
    const placed = args.map((arg) => (arg === pathOf(step, args) ? path : arg))
    const answer: WorkersAnswer = await stepOf(await this.#steps, step, placed).then(
      (ok) => ({ ok: ok ?? null, ...(existsSync(path) && { file: readFileSync(path).toString("base64") }) }),
      ({ reason, message }) => ({ failed: { reason, message } }),
    )
    return Response.json(answer)
  }
}

export default {
  fetch: (request: Request, { DEVICE }: Env) => DEVICE.get(DEVICE.idFromName("device")).fetch(request),
}
