// Builds this repository's modules for a package: ES modules and CommonJS of everything that its exports reach.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { type Format, transform } from "esbuild"
import { fileOf, root } from "./plan.ts"
import { protoSpecifier } from "./proto-exports.ts"

const importPattern = /((?<![.\w])(?:from\s+|import\s+|import\(\s*)")([^"\n]+)(")/g

interface ModuleGraph {
  /** Every reachable file, relative to the root of the repository. */
  readonly files: readonly string[]
  /** The imported specifiers of external packages and of Node. */
  readonly external: ReadonlySet<string>
}

export interface ImportOptions {
  /** True if generated protobuf modules are imported from `@signet/proto`; otherwise they are part of the package. */
  readonly isProtoExternal: boolean
}

/** Finds the files that entries import, directly or not. A type-only import adds no file. */
export async function moduleGraph(entries: readonly string[], options: ImportOptions): Promise<ModuleGraph> {
  const seen = new Set<string>()
  const external = new Set<string>()
  const visit = async (file: string): Promise<void> => {
    if (seen.has(file)) return
    seen.add(file)
    const { code } = await transpile(file, "esm", options)
    for (const specifier of specifiersIn(code)) {
      if (!specifier.startsWith(".")) external.add(specifier)
      else await visit(sourceOf(join(file, "..", specifier)))
    }
  }
  for (const entry of entries) await visit(entry)
  return { files: [...seen].sort(), external }
}

/** The source of a script's path. */
function sourceOf(script: string): string {
  const path = script.replace(/\.js$/, "")
  return existsSync(join(root, `${path}.tsx`)) ? `${path}.tsx` : `${path}.ts`
}

/** The name of the built file. */
export const scriptOf = (source: string): string => source.replace(/\.tsx?$/, ".js")

export const specifiersIn = (text: string): string[] => [...text.matchAll(importPattern)].map(([, , name = ""]) => name)

/**
 * Rewrites the imports of this repository's modules for the package: to a relative path, or to `@signet/proto`.
 */
export function rewriteImports(text: string, from: string, { isProtoExternal }: ImportOptions): string {
  return text.replaceAll(importPattern, (whole, before: string, specifier: string, after: string) => {
    if (!specifier.startsWith(".") && !specifier.startsWith("@signet/")) return whole
    const file = fileOf(from, specifier)
    if (file === undefined) return whole
    const external = isProtoExternal ? protoSpecifier(file) : undefined
    const path = scriptOf(relative(dirname(from), file))
    return `${before}${external ?? (path.startsWith(".") ? path : `./${path}`)}${after}`
  })
}

async function transpile(file: string, format: Format, options: ImportOptions) {
  const source = rewriteImports(readFileSync(join(root, file), "utf8"), file, options)
  return transform(source, {
    loader: file.endsWith(".tsx") ? "tsx" : "ts",
    jsx: "automatic",
    format,
    platform: format === "cjs" ? "node" : "neutral",
    target: "es2022",
    sourcefile: file,
    sourcemap: "external",
    tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
  })
}

interface WriteOptions extends ImportOptions {
  readonly format: "esm" | "cjs"
  /** Replacements for imports of external packages, as paths relative to the output folder. */
  readonly replacements?: ReadonlyMap<string, string>
}

/** Writes the transpiled files under `into` at their paths in the repository, each with a source map. */
export async function writeModules(files: readonly string[], into: string, options: WriteOptions): Promise<void> {
  await Promise.all(
    files.map(async (file) => {
      const target = join(into, scriptOf(file))
      const { code, map } = await transpile(file, options.format, options)
      const up = relative(dirname(target), into) || "."
      const pattern = options.format === "cjs" ? /(\brequire\(")([^"\n]+)("\))/g : importPattern
      const renamed = code.replaceAll(pattern, (whole, before: string, specifier: string, after: string) => {
        const to = options.replacements?.get(specifier)
        return to === undefined ? whole : `${before}${up}/${to}${after}`
      })
      mkdirSync(dirname(target), { recursive: true })
      writeFileSync(target, `${renamed}//# sourceMappingURL=${target.split("/").pop()}.map\n`)
      writeFileSync(`${target}.map`, map)
    }),
  )
}
