// The published packages and their contents.
import { readFileSync } from "node:fs"
import { join, resolve } from "node:path"

export const root = resolve(import.meta.dirname, "../..")

export interface Manifest {
  readonly name: string
  readonly version: string
  readonly description?: string
  readonly license: string
  readonly type: "module"
  readonly engines?: { readonly node: string }
  readonly exports?: Readonly<Record<string, string>>
  readonly bin?: Readonly<Record<string, string>>
  readonly keywords?: readonly string[]
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional: boolean }>>
  /** What React Native's code generator reads. */
  readonly codegenConfig?: object
  /** `exports`: the published package's exports, if they are fewer than those in this repository. */
  readonly publishConfig?: { readonly exports?: Readonly<Record<string, string>> }
}

export interface Library {
  readonly name: string
  /** The workspace. */
  readonly folder: string
  /** Where its modules run: for "node", a bundler for browsers finds no module and reports it. */
  readonly runsOn: "anywhere" | "node"
  /** External packages that are bundled into it. */
  readonly inside?: readonly string[]
  /** True if it has the messenger's Worker. */
  readonly hasWorker?: boolean
  /** Sources of a native module, which an app compiles: files and folders that are copied. */
  readonly nativeModule?: readonly string[]
}

/**
 * The libraries in the order of their dependencies. Imported code of this repository is copied into each library,
 * except `@signet/proto`.
 */
export const libraries: readonly Library[] = [
  { name: "@signet/proto", folder: "gen", runsOn: "anywhere" },
  { name: "@signet/canonical", folder: "proto/canonical", runsOn: "anywhere" },
  { name: "@signet/guard", folder: "server/guard", runsOn: "anywhere" },
  { name: "@signet/client", folder: "clients/core", runsOn: "anywhere" },
  { name: "@signet/client-web", folder: "clients/web", runsOn: "anywhere", hasWorker: true },
  { name: "@signet/react", folder: "clients/react", runsOn: "anywhere" },
  {
    ...{ name: "@signet/client-react-native", folder: "clients/react-native", runsOn: "anywhere" },
    nativeModule: [
      ...["android", "cpp", "ios", "spec/NativeSignet.ts"],
      ...["react-native.config.js", "SignetReactNative.podspec"],
    ],
  },
  // connect-node demands Node 22, so npm would warn on 20, where the used part works: the tests run it there.
  { name: "@signet/client-node", folder: "clients/node", runsOn: "node", inside: ["@connectrpc/connect-node"] },
]

/** Workspaces that others import by name, published or not. */
const named: Readonly<Record<string, string>> = {
  "@signet/kernel": "server/kernel",
  "@signet/development": "server/development",
  ...Object.fromEntries(libraries.map(({ name, folder }) => [name, folder])),
}

export function readJson<Content>(file: string): Content {
  return JSON.parse(readFileSync(join(root, file), "utf8"))
}

export const manifestIn = (folder: string): Manifest => readJson(join(folder, "package.json"))

/** The version of all published packages. */
export const version: string = manifestIn(".").version

/** The folders for which the compiler writes declarations. */
export const declared: readonly string[] = [
  "gen/es",
  "server/kernel",
  ...libraries.map(({ folder }) => folder).filter((folder) => folder !== "gen"),
]

/**
 * The file of this repository that a module imports.
 *
 * @param from The importing file, relative to the root of the repository.
 * @returns A path relative to the root; undefined for external packages.
 */
export function fileOf(from: string, specifier: string): string | undefined {
  if (specifier.startsWith(".")) return join(from, "..", specifier)
  const name = specifier.split("/").slice(0, 2).join("/")
  const folder = named[name]
  if (folder === undefined) return undefined
  const entry = `.${specifier.slice(name.length)}`
  for (const [pattern, target] of Object.entries(manifestIn(folder).exports ?? {})) {
    const [before = "", after] = pattern.split("*")
    if (after === undefined ? entry === pattern : entry.startsWith(before) && entry.endsWith(after)) {
      const matched = after === undefined ? "" : entry.slice(before.length, entry.length - after.length)
      return join(folder, target.replace("*", matched))
    }
  }
  throw new Error(`${from} imports ${specifier}, which ${folder}/package.json does not export`)
}
