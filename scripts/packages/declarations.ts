// Writes a package's declarations: the types that its entries reach, with the package's import paths.
import { execFileSync } from "node:child_process"
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { type ImportOptions, rewriteImports, specifiersIn } from "./modules.ts"
import { declared, fileOf, root } from "./plan.ts"
import { protoSpecifier } from "./proto-exports.ts"

/**
 * Compiles all workspaces at once.
 *
 * Names folders and not entries: the compiler emits nothing for a file that it first meets by a package's name.
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

/** @returns The external packages that the declarations import. */
export function writeDeclarations(
  entries: readonly string[],
  emitted: string,
  into: readonly string[],
  options: ImportOptions,
): ReadonlySet<string> {
  const external = new Set<string>()
  const seen = new Set<string>()
  const visit = (file: string): void => {
    if (seen.has(file)) return
    seen.add(file)
    const path = file.replace(/\.tsx?$/, ".d.ts")
    const source = join(emitted, path)
    if (!existsSync(source)) throw new Error(`no declarations of ${file}`)
    const text = readFileSync(source, "utf8")
    for (const specifier of specifiersIn(text)) {
      const target = fileOf(file, specifier)
      if (target === undefined) external.add(specifier)
      else if (!options.isProtoExternal || protoSpecifier(target) === undefined) visit(target)
    }
    for (const folder of into) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), rewriteImports(text, file, options))
    }
  }
  for (const entry of entries) visit(entry)
  return external
}

export const copy = (from: string, to: string): void => cpSync(join(root, from), to, { recursive: true })
