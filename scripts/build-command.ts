// Builds the package of the command, into dist/command: our own code in a few files, other packages as they
// are published.
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { build } from "esbuild"

const root = resolve(import.meta.dirname, "..")
const source = join(root, "clients/cli")
const target = join(root, "dist/command")

const read = (file: string) => JSON.parse(readFileSync(join(root, file), "utf8"))

/** @returns Its folder. */
export async function buildCommand(): Promise<string> {
  rmSync(target, { recursive: true, force: true })
  const { metafile } = await build({
    entryPoints: [join(source, "main.ts")],
    outdir: join(target, "dist"),
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node22",
    metafile: true,
    logLevel: "warning",
    plugins: [
      {
        name: "ours inside, others outside",
        setup({ onResolve }) {
          onResolve({ filter: /^[^./]/ }, ({ path, kind }) =>
            kind === "entry-point" || path.startsWith("@signet/") ? undefined : { path, external: true },
          )
        },
      },
    ],
  })
  const named = Object.values(metafile.outputs).flatMap(({ imports }) => imports.filter(({ external }) => external))
  mkdirSync(target, { recursive: true })
  for (const file of ["bin", "README.md"]) cpSync(join(source, file), join(target, file), { recursive: true })
  cpSync(join(root, "LICENSE"), join(target, "LICENSE"))
  const { private: _, exports: __, dependencies: ___, ...manifest } = read("clients/cli/package.json")
  const dependencies = versionsOf(named.map(({ path }) => path))
  const files = ["bin", "dist"]
  const published = { ...manifest, engines: { node: ">=22.18" }, files, dependencies }
  writeFileSync(join(target, "package.json"), `${JSON.stringify(published, null, 2)}\n`)
  return target
}

/** The versions that are installed here, of the packages that these are imported from. */
function versionsOf(paths: readonly string[]): Readonly<Record<string, string>> {
  const packages = paths
    .filter((path) => !path.startsWith("node:"))
    .map((path) =>
      path
        .split("/")
        .slice(0, path.startsWith("@") ? 2 : 1)
        .join("/"),
    )
  const lock = read("package-lock.json").packages
  return Object.fromEntries([...new Set(packages)].sort().map((name) => [name, lock[`node_modules/${name}`].version]))
}
