// Packages of others that only exist as ES modules, as CommonJS: inside the package, with their licences.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { build } from "esbuild"
import { root } from "./plan.ts"

const require = createRequire(join(root, "package.json"))

export const packageOf = (specifier: string): string =>
  specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/")

/** Whether `require` of it needs a Node that can require ES modules. */
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

/**
 * Bundles what needs it into `<into>/vendor`: one bundle, so that no package is in it twice.
 *
 * @returns What a module imports instead, from `into`.
 */
export async function vendor(outside: Iterable<string>, into: string): Promise<ReadonlyMap<string, string>> {
  const specifiers = [...outside].filter(isModuleOnly).sort()
  if (specifiers.length === 0) return new Map()
  const { metafile } = await build({
    stdin: {
      contents: specifiers.map((name, i) => `export * as m${i} from ${JSON.stringify(name)}`).join("\n"),
      resolveDir: root,
    },
    outfile: join(into, "vendor/bundle.js"),
    bundle: true,
    format: "cjs",
    platform: "neutral",
    mainFields: ["module", "main"],
    conditions: ["import"],
    target: "es2022",
    metafile: true,
    logLevel: "warning",
    plugins: [
      {
        name: "what can be required stays outside",
        setup({ onResolve }) {
          onResolve({ filter: /^[^./]/ }, ({ path, kind }) =>
            kind === "entry-point" || isModuleOnly(path) ? undefined : { path, external: true },
          )
        },
      },
    ],
  })
  const licensed = Object.keys(metafile.inputs).map((input) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1])
  writeLicences([...new Set(licensed)].filter((name) => name !== undefined).sort(), join(into, "vendor/LICENSES.txt"))
  return new Map(
    specifiers.map((name, i) => {
      const file = `vendor/${name.replace(/\.js$/, "").replaceAll("/", "-")}.js`
      writeFileSync(join(into, file), `module.exports = require("./bundle.js").m${i}\n`)
      return [name, file]
    }),
  )
}

function writeLicences(names: readonly string[], file: string): void {
  const texts = names.map((name) => {
    const folder = join(root, "node_modules", name)
    const licence = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry))
    if (licence === undefined) throw new Error(`${name} has no licence to ship it with`)
    return `${name}\n\n${readFileSync(join(folder, licence), "utf8").trim()}\n`
  })
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, texts.join(`\n${"-".repeat(80)}\n\n`))
}
