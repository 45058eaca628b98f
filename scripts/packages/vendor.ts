// Bundles external packages into ours, with their licences: packages that exist only as ES modules, for CommonJS, and
// packages whose manifest demands more than ours.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { build } from "esbuild"
import { type Manifest, readJson, root } from "./plan.ts"

const require = createRequire(join(root, "package.json"))

export const packageOf = (specifier: string): string =>
  specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/")

/** True if `require` of it needs a Node that can require ES modules. */
function isModuleOnly(specifier: string): boolean {
  if (/^(node:|@signet\/)/.test(specifier)) return false
  let file: string
  try {
    file = require.resolve(specifier)
  } catch {
    return true
  }
  if (file.endsWith(".cjs")) return false
  return file.endsWith(".mjs") || manifestOver(file).type === "module"
}

function manifestOver(file: string): { type?: string } {
  for (let folder = dirname(file); folder !== dirname(folder); folder = dirname(folder)) {
    const path = join(folder, "package.json")
    if (existsSync(path)) return JSON.parse(readFileSync(path, "utf8"))
  }
  return {}
}

interface VendorOptions {
  readonly format: "esm" | "cjs"
  /** Packages that are bundled in both formats. */
  readonly inside: readonly string[]
}

/**
 * Bundles packages into `<into>/vendor`: one bundle, so that no package is contained twice.
 *
 * @returns The replacement of each import, from `into`.
 */
export async function vendor(
  external: Iterable<string>,
  into: string,
  { format, inside }: VendorOptions,
): Promise<ReadonlyMap<string, string>> {
  const isInside = (name: string) => inside.includes(name) || (format === "cjs" && isModuleOnly(name))
  const specifiers = [...external].filter(isInside).sort()
  if (specifiers.length === 0) return new Map()
  const { metafile } = await build({
    stdin: {
      contents: specifiers.map((name, i) => `export * as m${i} from ${JSON.stringify(name)}`).join("\n"),
      resolveDir: root,
    },
    outfile: join(into, "vendor/bundle.js"),
    bundle: true,
    format,
    platform: "neutral",
    mainFields: ["module", "main"],
    conditions: ["import"],
    target: "es2022",
    metafile: true,
    logLevel: "warning",
    plugins: [
      {
        name: "what can be imported stays external",
        setup({ onResolve }) {
          onResolve({ filter: /^[^./]/ }, ({ path, kind }) =>
            kind === "entry-point" || isInside(path) ? undefined : { path, external: true },
          )
        },
      },
    ],
  })
  const licensed = Object.keys(metafile.inputs).map((input) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1])
  writeLicences([...new Set(licensed)].filter((name) => name !== undefined).sort(), join(into, "vendor/LICENSES.txt"))
  const files = await Promise.all(
    specifiers.map(async (name, i): Promise<[string, string]> => {
      const file = `vendor/${name.replace(/\.js$/, "").replaceAll("/", "-")}.js`
      writeFileSync(
        join(into, file),
        format === "cjs" ? `module.exports = require("./bundle.js").m${i}\n` : await namesOf(name, i),
      )
      return [name, file]
    }),
  )
  return new Map(files)
}

/** An ES module in the bundle that reexports another module's names. */
async function namesOf(specifier: string, i: number): Promise<string> {
  const names = Object.keys(await import(specifier))
  return [`import { m${i} } from "./bundle.js"`, `export const { ${names.join(", ")} } = m${i}`, ""].join("\n")
}

function writeLicences(names: readonly string[], file: string): void {
  const texts = names.map((name) => {
    const folder = join(root, "node_modules", name)
    const licence = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry))
    if (licence === undefined && readJson<Manifest>(`node_modules/${name}/package.json`).license === "Apache-2.0") {
      return `${name}\n\nApache License 2.0: the text is in LICENSE of this package.\n`
    }
    if (licence === undefined) throw new Error(`${name} has no licence to ship it with`)
    return `${name}\n\n${readFileSync(join(folder, licence), "utf8").trim()}\n`
  })
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, texts.join(`\n${"-".repeat(80)}\n\n`))
}
