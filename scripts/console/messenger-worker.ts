// The files of the messenger's Worker: its script, the engine and the core.
import { join, relative } from "node:path"
import { build, type Plugin } from "esbuild"
import { buildCore } from "../../clients/native/build.ts"
import { generateContract } from "./web-contract.ts"

const root = join(import.meta.dirname, "../..")
/** Where the page's module looks for the files, in the repository and in the package. */
export const workerFolder = "clients/web/messaging/worker"

/** Builds the Worker's script with everything that it imports. @returns The files, by the names that the script has. */
export async function buildWorker(): Promise<ReadonlyMap<string, Uint8Array>> {
  const { wasm, bytecode } = await buildCore()
  const { script, map } = await bundle(generateContract())
  return new Map([
    ["worker.js", script],
    ["worker.js.map", map],
    ["engine.wasm", wasm],
    ["core.bin", bytecode],
  ])
}

async function bundle(contract: string): Promise<{ readonly script: Uint8Array; readonly map: Uint8Array }> {
  const { outputFiles } = await build({
    entryPoints: [join(root, workerFolder, "worker.ts")],
    absWorkingDir: root,
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    target: "es2022",
    legalComments: "none",
    write: false,
    sourcemap: "linked",
    sourcesContent: false,
    outfile: "worker.js",
    logLevel: "warning",
    plugins: [contractForBrowsers(contract), withoutUnused],
  })
  const [map, script] = outputFiles.toSorted((a, b) => b.path.length - a.path.length)
  if (script === undefined || map === undefined) throw new Error("the bundle has no script, or no source map")
  return { script: script.contents, map: withoutFolder(map.text, relative(root, contract)) }
}

/** Names the generated contract by its own folder: that of the cache has a hash. */
function withoutFolder(map: string, folder: string): Uint8Array {
  const { sources, ...rest }: { sources: string[] } = JSON.parse(map)
  const named = sources.map((path) => (path.startsWith(`${folder}/`) ? `gen/web${path.slice(folder.length)}` : path))
  return new TextEncoder().encode(JSON.stringify({ ...rest, sources: named }))
}

const contractForBrowsers = (contract: string): Plugin => ({
  name: "the contract for browsers",
  setup({ onResolve }) {
    onResolve({ filter: /^@signet\/proto\// }, ({ path }) => {
      const name = path.slice("@signet/proto/".length)
      const isForeign = /^(google|grpc)\//.test(name)
      return { path: join(contract, isForeign ? `${name}_pb.js` : `signet/${name}_pb.js`), sideEffects: false }
    })
  },
})

/** No module of ours does anything when it is loaded: the Worker needs few of each package's. */
const withoutUnused: Plugin = {
  name: "modules without side effects",
  setup({ onResolve, resolve }) {
    onResolve({ filter: /^(\.|@signet\/)/ }, async ({ path, pluginData, ...options }) => {
      if (pluginData === "resolved") return undefined
      const found = await resolve(path, { ...options, pluginData: "resolved" })
      const isOurs = /^(clients|proto)\//.test(relative(root, found.path))
      return isOurs ? { ...found, sideEffects: false } : found
    })
  },
}
