// Builds what is published, by itself into dist/packages: ES modules with types, and manifests that name what was built.
//
// In the repository packages export their sources; published ones export what this makes of them, under the same names.
import { execFileSync } from "node:child_process"
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"

const root = resolve(import.meta.dirname, "..")

interface Built {
  readonly name: string
  readonly folder: string
  /** The conditions under which a target is found; `web` is the folder of the contract that browsers take. */
  readonly targets: (source: string) => Readonly<Record<string, string>>
}

const js = (source: string) => source.replace(/\.ts$/, ".js")
const types = (source: string) => source.replace(/\.ts$/, ".d.ts")

export const built: readonly Built[] = [
  {
    name: "@signet/proto",
    folder: "gen",
    targets: (source) => ({
      types: types(source),
      browser: js(source).replace("./es/", "./web/"),
      default: js(source),
    }),
  },
  {
    name: "@signet/canonical",
    folder: "proto/canonical",
    targets: (source) => ({ types: types(source), default: js(source) }),
  },
  {
    name: "@signet/client",
    folder: "clients/core",
    targets: (source) => ({ types: types(source), default: js(source) }),
  },
  {
    name: "@signet/client-web",
    folder: "clients/web",
    targets: (source) => ({ types: types(source), browser: js(source), worker: js(source), default: js(source) }),
  },
  // A bundler for browsers finds nothing, and says so.
  {
    name: "@signet/client-node",
    folder: "clients/node",
    targets: (source) => ({ types: types(source), node: js(source) }),
  },
]

function run(command: string, ...args: string[]): void {
  execFileSync(join(root, "node_modules/.bin", command), args, { cwd: root, stdio: ["ignore", "inherit", "inherit"] })
}

const readManifest = (folder: string) => JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"))

/**
 * Every file of a package, and not what its exports reach: what the compiler first meets by the name of a package it takes
 * for somebody else's, and writes nothing.
 */
function compilerConfig(outDir: string): object {
  const folders = built.map(({ folder }) => join(root, folder === "gen" ? "gen/es" : folder))
  return { extends: join(root, "tsconfig.build.json"), compilerOptions: { outDir }, include: folders }
}

function manifestOf({ folder, targets }: Built): object {
  const { private: _, exports, ...manifest } = readManifest(folder)
  const entries = Object.entries<string>(exports).map(([name, source]) => [name, targets(source)])
  return { ...manifest, sideEffects: false, exports: Object.fromEntries(entries) }
}

/**
 * @param into A folder of its own: what is in it goes.
 * @returns The folder of each package, by its name.
 */
export function buildPackages(into: string): ReadonlyMap<string, string> {
  rmSync(into, { recursive: true, force: true })
  const emitted = join(into, "emitted")
  const config = join(into, "tsconfig.json")
  mkdirSync(into, { recursive: true })
  writeFileSync(config, JSON.stringify(compilerConfig(emitted)))
  run("tsc", "-p", config)
  run("buf", "generate", "--template", "buf.gen.web.yaml", "-o", join(into, "@signet/proto"))
  const folders = built.map((each): [string, string] => {
    const target = join(into, each.name)
    mkdirSync(target, { recursive: true })
    cpSync(join(emitted, each.folder), target, { recursive: true })
    cpSync(join(root, each.folder, "README.md"), join(target, "README.md"))
    cpSync(join(root, "LICENSE"), join(target, "LICENSE"))
    writeFileSync(join(target, "package.json"), `${JSON.stringify(manifestOf(each), null, 2)}\n`)
    return [each.name, target]
  })
  rmSync(emitted, { recursive: true, force: true })
  rmSync(config)
  return new Map(folders)
}

if (import.meta.filename === process.argv[1]) {
  for (const [name, folder] of buildPackages(join(root, "dist/packages"))) console.log(`${name}: ${folder}`)
}
