// Builds this repository's modules for a package: ES modules and CommonJS of everything that its exports reach.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { type Format, transform } from "esbuild"
import { fileOf, root } from "./plan.ts"
import { protoSpecifier } from "./proto-exports.ts"

const imported = /((?<![.\w])(?:from\s+|import\s+|import\(\s*)")([^"\n]+)(")/g

export interface Tree {
  /** Every required file, from the root of the repository. */
  readonly files: readonly string[]
  /** The imported specifiers of external packages and of Node. */
  readonly outside: ReadonlySet<string>
}

export interface TreeOptions {
  /** True if contract files are imported from `@signet/proto`; otherwise they are part of the package. */
  readonly hasProtoOutside: boolean
}

/** Finds the files that entries reach. Types do not count: an import of only a type requires no module. */
export async function treeOf(entries: readonly string[], options: TreeOptions): Promise<Tree> {
  const seen = new Set<string>()
  const outside = new Set<string>()
  const visit = async (file: string): Promise<void> => {
    if (seen.has(file)) return
    seen.add(file)
    const { code } = await scriptOf(file, "esm", options)
    for (const specifier of specifiersIn(code)) {
      if (!specifier.startsWith(".")) outside.add(specifier)
      else await visit(join(file, "..", specifier).replace(/\.js$/, ".ts"))
    }
  }
  for (const entry of entries) await visit(entry)
  return { files: [...seen].sort(), outside }
}

export const specifiersIn = (text: string): string[] => [...text.matchAll(imported)].map(([, , name = ""]) => name)

/**
 * The text with this repository's imports rewritten for the package: relative to the build, or from `@signet/proto`.
 */
export function withPublished(text: string, from: string, { hasProtoOutside }: TreeOptions): string {
  return text.replaceAll(imported, (whole, before: string, specifier: string, after: string) => {
    if (!specifier.startsWith(".") && !specifier.startsWith("@signet/")) return whole
    const file = fileOf(from, specifier)
    if (file === undefined) return whole
    const outside = hasProtoOutside ? protoSpecifier(file) : undefined
    const path = relative(dirname(from), file).replace(/\.ts$/, ".js")
    return `${before}${outside ?? (path.startsWith(".") ? path : `./${path}`)}${after}`
  })
}

async function scriptOf(file: string, format: Format, options: TreeOptions) {
  const source = withPublished(readFileSync(join(root, file), "utf8"), file, options)
  return transform(source, {
    loader: "ts",
    format,
    platform: format === "cjs" ? "node" : "neutral",
    target: "es2022",
    sourcefile: file,
    sourcemap: "external",
    tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
  })
}

export interface WriteOptions extends TreeOptions {
  readonly format: "esm" | "cjs"
  /** Replacements for imports of external packages, from the output folder. */
  readonly rename?: ReadonlyMap<string, string>
}

/** Writes the files under `into`, with the repository's paths and a source map each. */
export async function writeModules(files: readonly string[], into: string, options: WriteOptions): Promise<void> {
  await Promise.all(
    files.map(async (file) => {
      const target = join(into, file.replace(/\.ts$/, ".js"))
      const { code, map } = await scriptOf(file, options.format, options)
      const up = relative(dirname(target), into) || "."
      const name = options.format === "cjs" ? /(\brequire\(")([^"\n]+)("\))/g : imported
      const renamed = code.replaceAll(name, (whole, before: string, specifier: string, after: string) => {
        const to = options.rename?.get(specifier)
        return to === undefined ? whole : `${before}${up}/${to}${after}`
      })
      mkdirSync(dirname(target), { recursive: true })
      writeFileSync(target, `${renamed}//# sourceMappingURL=${target.split("/").pop()}.map\n`)
      writeFileSync(`${target}.map`, map)
    }),
  )
}
