// Builds the two programs: the command in a few files, so that it starts fast, and the server as modules.
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { build } from "esbuild"
import { buildConsole } from "../console/build.ts"
import { copy } from "./declarations.ts"
import { moduleGraph, writeModules } from "./modules.ts"
import { manifestIn, root } from "./plan.ts"
import { dependenciesOn, writePackage } from "./write-package.ts"

/** @returns Its folder. */
export async function buildCommand(into: string): Promise<string> {
  const folder = "clients/cli"
  const target = join(into, "@signet/cli")
  const { metafile } = await build({
    entryPoints: [join(root, folder, "main.ts")],
    outdir: join(target, "dist"),
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node22",
    sourcemap: true,
    metafile: true,
    logLevel: "warning",
    plugins: [
      {
        name: "ours inside, others external",
        setup({ onResolve }) {
          onResolve({ filter: /^[^./]/ }, ({ path, kind }) =>
            kind === "entry-point" || path.startsWith("@signet/") ? undefined : { path, external: true },
          )
        },
      },
    ],
  })
  const external = Object.values(metafile.outputs).flatMap(({ imports }) =>
    imports.filter(({ external }) => external).map(({ path }) => path),
  )
  copy(`${folder}/bin`, join(target, "bin"))
  const manifest = manifestIn(folder)
  writePackage(target, folder, {
    engines: manifest.engines,
    bin: manifest.bin,
    exports: { "./package.json": "./package.json" },
    dependencies: dependenciesOn(external),
  })
  return target
}

/** The files that the server reads besides its modules. */
const assets = ["server/store/postgres/migrations", "gen/openapi"]

/** @returns Its folder. */
export async function buildServer(into: string): Promise<string> {
  const folder = "server/node"
  const target = join(into, "@signet/server")
  const options = { isProtoExternal: false }
  const programs = [
    "server/node/main.ts",
    "server/node/admin/main.ts",
    "server/node/health/main.ts",
    "server/guard/node/policy.ts",
  ]
  const { files, external } = await moduleGraph(programs, options)
  await writeModules(files, join(target, "dist"), { ...options, format: "esm" })
  const pages = join(target, "dist/clients/console/built")
  mkdirSync(pages, { recursive: true })
  for (const [name, content] of await buildConsole()) writeFileSync(join(pages, name), content)
  for (const asset of assets) {
    mkdirSync(dirname(join(target, "dist", asset)), { recursive: true })
    copy(asset, join(target, "dist", asset))
  }
  copy(`${folder}/bin`, join(target, "bin"))
  const manifest = manifestIn(folder)
  writePackage(target, folder, {
    engines: manifest.engines,
    bin: manifest.bin,
    exports: { "./package.json": "./package.json" },
    dependencies: dependenciesOn(external),
  })
  return target
}
