// Runs a Worker with the core on workerd: the engine and the core are modules of it.
import { join } from "node:path"
import { build } from "esbuild"
import { Log, LogLevel, Miniflare } from "miniflare"
import { buildCore } from "../../../clients/native/build.ts"

export interface BuiltWorker {
  readonly script: string
  readonly engine: Uint8Array<ArrayBuffer>
  readonly core: Uint8Array<ArrayBuffer>
}

/** @param entry Imports `./quickjs.wasm` and `./core.bc`. */
export async function buildCoreWorker(entry: string): Promise<BuiltWorker> {
  const { wasm: engine, bytecode: core } = await buildCore()
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    target: "es2024",
    platform: "neutral",
    mainFields: ["module", "main"],
    conditions: ["workerd", "worker", "import"],
    external: ["node:*", "cloudflare:workers", "./quickjs.wasm", "./core.bc"],
    logLevel: "warning",
  })
  return { script: outputFiles[0]?.text ?? "", engine, core }
}

interface CoreWorkerOptions {
  readonly texts: Readonly<Record<string, string>>
  /** Binding and class of the Durable Object. */
  readonly object: { readonly binding: string; readonly className: string }
  /** The folder of its rows. */
  readonly persist: string
}

export interface CoreWorker {
  post(path: string, body: unknown, headers?: Readonly<Record<string, string>>): Promise<Response>
  /** Ends workerd by SIGKILL. */
  kill(): Promise<void>
}

export async function startCoreWorker(
  { script, engine, core }: BuiltWorker,
  { texts, object: { binding, className }, persist }: CoreWorkerOptions,
): Promise<CoreWorker> {
  const miniflare = new Miniflare({
    host: "127.0.0.1",
    port: 0,
    cf: false,
    log: new Log(LogLevel.ERROR),
    modules: [
      { type: "ESModule", path: "worker.mjs", contents: script },
      { type: "CompiledWasm", path: "quickjs.wasm", contents: engine },
      { type: "Data", path: "core.bc", contents: core },
    ],
    compatibilityDate: "2026-06-01",
    compatibilityFlags: ["nodejs_compat"],
    bindings: { ...texts },
    durableObjects: { [binding]: { className, useSQLite: true } },
    durableObjectsPersist: join(persist, "objects"),
  })
  const url = await miniflare.ready
  let killed: Promise<void> | undefined
  return {
    post: (path, body, headers = {}) =>
      fetch(new URL(path, url), { method: "POST", body: JSON.stringify(body), headers: { ...headers } }),
    kill() {
      // Miniflare kills its process.
      killed ??= miniflare.dispose()
      return killed
    },
  }
}
