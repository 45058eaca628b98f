// Writes a package's manifest, README and licence.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { copy } from "./declarations.ts"
import { manifestIn, readJson, root, version } from "./plan.ts"
import { packageOf } from "./vendor.ts"

interface Lock {
  readonly packages: Readonly<Record<string, { readonly version: string }>>
}

/** The installed versions: the tested versions are the required ones. */
export function dependenciesOn(specifiers: Iterable<string>): Readonly<Record<string, string>> {
  const { packages } = readJson<Lock>("package-lock.json")
  const names = [...new Set([...specifiers].filter((name) => !name.startsWith("node:")).map(packageOf))].sort()
  return Object.fromEntries(
    names.map((name) => {
      if (name.startsWith("@signet/")) return [name, version]
      const installed = packages[`node_modules/${name}`]
      if (installed === undefined) throw new Error(`${name} is imported and is not in package-lock.json`)
      return [name, installed.version]
    }),
  )
}

/** @param folder The workspace of the name, description and README. */
export function writePackage(target: string, folder: string, fields: object): void {
  const { name, description, license, type, keywords } = manifestIn(folder)
  mkdirSync(target, { recursive: true })
  const manifest = { name, version, description, license, type, keywords, sideEffects: false, ...fields }
  writeFileSync(join(target, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`)
  writeFileSync(join(target, "README.md"), withLinksKept(readFileSync(join(root, folder, "README.md"), "utf8"), target))
  copy("LICENSE", join(target, "LICENSE"))
}

/** Replaces a link to a file of the repository that the package lacks by the link's text. */
const withLinksKept = (text: string, target: string): string =>
  text.replaceAll(/\[([^\]]+)\]\(([^)\s]+)\)/g, (link, label: string, to: string) =>
    /^(https?:|#)/.test(to) || existsSync(join(target, to.split("#")[0] ?? "")) ? link : label,
  )
