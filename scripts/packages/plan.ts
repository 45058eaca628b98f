// Which packages are published, and what each is made of.
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
  /** `exports`: what the published package exports, where that is less than what this repository imports. */
  readonly publishConfig?: { readonly exports?: Readonly<Record<string, string>> }
}

export interface Library {
  readonly name: string
  /** The workspace. */
  readonly folder: string
  /** Where its modules run: "node" makes a bundler for browsers find nothing, and say so. */
  readonly runsOn: "anywhere" | "node"
  /** Packages of others that are part of it. */
  readonly inside?: readonly string[]
}

/** In the order in which they need each other. Everything of ours but `@signet/proto` is copied into who imports it. */
export const libraries: readonly Library[] = [
  { name: "@signet/proto", folder: "gen", runsOn: "anywhere" },
  { name: "@signet/canonical", folder: "proto/canonical", runsOn: "anywhere" },
  { name: "@signet/guard", folder: "server/guard", runsOn: "anywhere" },
  { name: "@signet/client", folder: "clients/core", runsOn: "anywhere" },
  { name: "@signet/client-web", folder: "clients/web", runsOn: "anywhere" },
  // connect-node asks for Node 22, by which npm would warn on 20, where what is used of it works: the tests run it there.
  { name: "@signet/client-node", folder: "clients/node", runsOn: "node", inside: ["@connectrpc/connect-node"] },
]

/** Workspaces whose modules others of ours import by name, published or not. */
const named: Readonly<Record<string, string>> = {
  "@signet/kernel": "server/kernel",
  ...Object.fromEntries(libraries.map(({ name, folder }) => [name, folder])),
}

export function readJson<Content>(file: string): Content {
  return JSON.parse(readFileSync(join(root, file), "utf8"))
}

export const manifestIn = (folder: string): Manifest => readJson(join(folder, "package.json"))

/** The one version of everything that is published. */
export const version: string = manifestIn(".").version

/** The folders whose declarations the compiler writes. */
export const declared: readonly string[] = ["gen/es", ...Object.values(named).filter((folder) => folder !== "gen")]

/**
 * The file of this repository that a module imports.
 *
 * @param from The importing file, from the root of the repository.
 * @returns A path from the root; undefined for packages of others.
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
