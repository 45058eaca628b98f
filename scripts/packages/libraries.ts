// Builds a library: ES modules and CommonJS of everything that its exports reach, each with declarations.
import { execFileSync } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { buildWorker, workerFolder } from "../console/messenger-worker.ts"
import { copy, writeDeclarations } from "./declarations.ts"
import { moduleGraph, scriptOf, writeModules } from "./modules.ts"
import { type Library, manifestIn, root } from "./plan.ts"
import { protoExports } from "./proto-exports.ts"
import { packageOf, vendor } from "./vendor.ts"
import { dependenciesOn, writePackage } from "./write-package.ts"

/** @returns Its folder. */
export async function buildLibrary(library: Library, emitted: string, into: string): Promise<string> {
  const target = join(into, library.name)
  const isProto = library.name === "@signet/proto"
  const { publishConfig, exports = {}, engines, codegenConfig, ...manifest } = manifestIn(library.folder)
  const { peerDependencies = {}, peerDependenciesMeta } = manifest
  const published = isProto ? protoExports() : (publishConfig?.exports ?? exports)
  const targets = [...new Set(Object.values(published))]
  const entries = targets.filter(isSource).map((entry) => join(library.folder, entry))
  const assets = targets.filter((entry) => !isSource(entry))
  for (const asset of assets) copy(join(library.folder, asset), join(target, asset))
  const options = { isProtoExternal: !isProto }
  const { files, external: imported } = await moduleGraph(entries, options)
  const { inside = [], nativeModule = [] } = library
  const isPeer = (name: string) => packageOf(name) in peerDependencies
  const external = [...imported].filter((name) => !isPeer(name))
  for (const format of ["esm", "cjs"] as const) {
    const replacements = await vendor(external, join(target, format), { format, inside })
    await writeModules(files, join(target, format), { ...options, format, replacements })
  }
  if (library.hasWorker) await writeWorker(join(target, "esm"))
  const types = writeDeclarations(entries, emitted, [join(target, "esm"), join(target, "cjs")], options)
  // The nearest manifest determines the format of .js and .d.ts files.
  writeFileSync(join(target, "cjs/package.json"), '{ "type": "commonjs" }\n')
  if (isProto) generateForBrowsers(target)
  for (const path of nativeModule) copy(join(library.folder, path), join(target, path))
  const main = published["."]
  writePackage(target, library.folder, {
    engines,
    ...(assets.length > 0 && { sideEffects: assets }),
    ...(main !== undefined && mainOf(library, main)),
    exports: {
      ...Object.fromEntries(Object.entries(published).map(([name, source]) => [name, conditionsOf(library, source)])),
      "./package.json": "./package.json",
    },
    dependencies: dependenciesOn([...external, ...types].filter((name) => !inside.includes(name) && !isPeer(name))),
    ...(manifest.peerDependencies && { peerDependencies, peerDependenciesMeta }),
    ...(nativeModule.length > 0 && asNativeModule(join(target, "esm"), { codegenConfig })),
  })
  return target
}

/** The files that the page's module loads by their URLs. CommonJS has no such URLs. */
async function writeWorker(esm: string): Promise<void> {
  const folder = join(esm, workerFolder)
  mkdirSync(folder, { recursive: true })
  for (const [name, bytes] of await buildWorker()) writeFileSync(join(folder, name), bytes)
}

/** React Native's command line loads its configuration by `require`. */
function asNativeModule(esm: string, fields: object): object {
  writeFileSync(join(esm, "package.json"), '{ "type": "module" }\n')
  return { type: "commonjs", sideEffects: ["**/text-encoding.js"], ...fields }
}

/** False for a style sheet. */
const isSource = (entry: string): boolean => /\.tsx?$/.test(entry)

function conditionsOf({ name, folder, runsOn }: Library, source: string): object | string {
  if (!isSource(source)) return source
  const path = join(folder, source)
  const script = `./${scriptOf(path)}`
  const types = `./${path.replace(/\.tsx?$/, ".d.ts")}`
  const found = (format: "esm" | "cjs") => `./${format}/${script.slice(2)}`
  const runs = (format: "esm" | "cjs") => (runsOn === "node" ? { node: found(format) } : { default: found(format) })
  const browser = name === "@signet/proto" ? { browser: script.replace("./gen/es/", "./web/") } : {}
  return {
    import: { types: `./esm/${types.slice(2)}`, ...browser, ...runs("esm") },
    require: { types: `./cjs/${types.slice(2)}`, ...runs("cjs") },
  }
}

/** For tools without support for `exports`: they get CommonJS. */
function mainOf({ folder }: Library, source: string): object {
  const path = join(folder, source).replace(/\.tsx?$/, "")
  return { main: `./cjs/${path}.js`, types: `./cjs/${path}.d.ts` }
}

/** The contract for browsers, without the parts that only servers read. */
function generateForBrowsers(target: string): void {
  mkdirSync(target, { recursive: true })
  execFileSync(join(root, "node_modules/.bin/buf"), ["generate", "--template", "buf.gen.web.yaml", "-o", target], {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
  })
}
