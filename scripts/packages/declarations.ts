// Declarations of a package: what its entries' types reach, with imports as the package has them.
import { execFileSync } from "node:child_process"
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { specifiersIn, type TreeOptions, withPublished } from "./modules.ts"
import { declared, fileOf, root } from "./plan.ts"
import { protoSpecifier } from "./proto-exports.ts"

/**
 * Compiles every workspace at once.
 *
 * Whole folders are named and not entries: what the compiler first meets by the name of a package it takes for somebody
 * else's, and writes nothing.
 */
export function emitDeclarations(outDir: string): void {
  const config = join(dirname(outDir), "tsconfig.json")
  mkdirSync(dirname(outDir), { recursive: true })
  const include = declared.map((folder) => join(root, folder))
  writeFileSync(
    config,
    JSON.stringify({ extends: join(root, "tsconfig.build.json"), compilerOptions: { outDir }, include }),
  )
  execFileSync(join(root, "node_modules/.bin/tsc"), ["-p", config], {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
  })
}

/** @returns The packages of others that the declarations import. */
export function writeDeclarations(
  entries: readonly string[],
  emitted: string,
  into: readonly string[],
  options: TreeOptions,
): ReadonlySet<string> {
  const outside = new Set<string>()
  const seen = new Set<string>()
  const visit = (file: string): void => {
    if (seen.has(file)) return
    seen.add(file)
    const path = file.replace(/\.ts$/, ".d.ts")
    const source = join(emitted, path)
    if (!existsSync(source)) throw new Error(`no declarations of ${file}`)
    const text = readFileSync(source, "utf8")
    for (const specifier of specifiersIn(text)) {
      const target = fileOf(file, specifier)
      if (target === undefined) outside.add(specifier)
      else if (!options.hasProtoOutside || protoSpecifier(target) === undefined) visit(target)
    }
    for (const folder of into) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), withPublished(text, file, options))
    }
  }
  for (const entry of entries) visit(entry)
  return outside
}

export const copy = (from: string, to: string): void => cpSync(join(root, from), to, { recursive: true })
