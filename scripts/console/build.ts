// Builds the console's pages: hashed scripts and styles, and two HTML documents without inline script.
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { build, type Metafile, type Plugin } from "esbuild"
import { buildWorker } from "./messenger-worker.ts"
import { webContract } from "./web-contract.ts"

const folder = join(import.meta.dirname, "../../clients/console")
const place = "/console/assets/"

interface Page {
  readonly file: string
  readonly entry: string
  readonly title: string
}

const pages: readonly Page[] = [
  { file: "index.html", entry: "main.tsx", title: "Signet console" },
  { file: "chat.html", entry: "chat/main.tsx", title: "Signet chat" },
]

/** @returns The files by name. A page names its files by the hash of their content, so that browsers can keep them. */
export async function buildConsole(): Promise<ReadonlyMap<string, Uint8Array>> {
  const worker = await workerFiles()
  const { outputFiles, metafile } = await build({
    absWorkingDir: folder,
    entryPoints: [...pages.map(({ entry }) => entry), "console.css"],
    outdir: join(folder, "built"),
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "browser",
    target: "es2022",
    jsx: "automatic",
    minify: true,
    legalComments: "none",
    define: { "process.env.NODE_ENV": '"production"' },
    plugins: [webContract(), withWorker([...worker.keys()].find((name) => name.endsWith(".js")) ?? "")],
    metafile: true,
    write: false,
    logLevel: "warning",
  })
  const files = new Map<string, Uint8Array>(outputFiles.map(({ path, contents }) => [nameOf(path), contents]))
  for (const [name, contents] of worker) files.set(name, contents)
  const outputOf = (entry: string): string => {
    const found = Object.entries(metafile.outputs).find(([, output]) => output.entryPoint === entry)
    if (found === undefined) throw new Error(`esbuild wrote nothing for ${entry}`)
    return found[0]
  }
  const style = nameOf(outputOf("console.css"))
  for (const { file, entry, title } of pages) {
    const script = outputOf(entry)
    const chunks = (metafile.outputs[script]?.imports ?? [])
      .filter(({ kind }) => kind === "import-statement")
      .map(({ path }) => nameOf(path))
    files.set(file, new TextEncoder().encode(document({ title, style, script: nameOf(script), chunks })))
  }
  const ofChat = [...reachable(metafile, outputOf("chat/main.tsx"))].map(nameOf)
  const assets = [style, ...ofChat, ...worker.keys()].map((name) => place + name)
  return files.set("offline.js", await offlineWorker(assets, files.get("chat.html")))
}

/** The outputs that an output loads, at once or later, and itself. */
function reachable(
  { outputs }: Pick<Metafile, "outputs">,
  from: string,
  found = new Set<string>(),
): ReadonlySet<string> {
  if (found.has(from)) return found
  found.add(from)
  for (const { path, external } of outputs[from]?.imports ?? []) if (!external) reachable({ outputs }, path, found)
  return found
}

/** The chat's service worker. Browsers install it again when a file of the chat has changed. */
async function offlineWorker(assets: readonly string[], page: Uint8Array = new Uint8Array()): Promise<Uint8Array> {
  const version = createHash("sha256").update(assets.toSorted().join("\n")).update(page).digest("hex").slice(0, 16)
  const { outputFiles } = await build({
    entryPoints: [join(folder, "chat/offline-worker.ts")],
    bundle: true,
    // A module would not run in every browser as a service worker.
    format: "iife",
    target: "es2022",
    minify: true,
    define: { BUILD: JSON.stringify({ version, assets }) },
    write: false,
    logLevel: "warning",
  })
  return outputFiles[0]?.contents ?? new Uint8Array()
}

/** The files of the messenger's Worker, by the hash of their content. Its script names the others. */
async function workerFiles(): Promise<ReadonlyMap<string, Uint8Array>> {
  const { "worker.js": script = new Uint8Array(), ...others } = Object.fromEntries(await buildWorker())
  const files = new Map<string, Uint8Array>()
  let text = new TextDecoder().decode(script).replace(/\n?\/\/# sourceMappingURL=.*\s*$/, "")
  for (const [name, contents] of Object.entries(others)) {
    if (name.endsWith(".map")) continue
    const named = hashed(name, contents)
    if (!text.includes(`"./${name}"`)) throw new Error(`the Worker's script does not load ${name}`)
    text = text.replace(`"./${name}"`, `"./${named}"`)
    files.set(named, contents)
  }
  const contents = new TextEncoder().encode(text)
  return files.set(hashed("worker.js", contents), contents)
}

function hashed(name: string, contents: Uint8Array): string {
  const hash = createHash("sha256").update(contents).digest("hex").slice(0, 8).toUpperCase()
  return name.replace(".", `-${hash}.`)
}

/** The page's script loads the Worker by its hashed name, which is part of the script's own hash. */
const withWorker = (script: string): Plugin => ({
  name: "the messenger's Worker",
  setup({ onLoad }) {
    onLoad({ filter: /open-in-worker\.ts$/ }, ({ path }) => {
      const source = readFileSync(path, "utf8")
      const named = source.replace("./worker/worker.js", `./${script}`)
      if (named === source) throw new Error(`${path} loads no Worker`)
      return { contents: named, loader: "ts" }
    })
  },
})

const nameOf = (path: string): string => path.split(/[/\\]/).at(-1) ?? path

const document = (of: { title: string; style: string; script: string; chunks: readonly string[] }): string =>
  `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${of.title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${place}${of.style}">
${of.chunks.map((name) => `<link rel="modulepreload" href="${place}${name}">\n`).join("")}<script type="module" src="${place}${of.script}"></script>
</head>
<body>
<div id="root"></div>
<noscript>The console needs JavaScript.</noscript>
</body>
</html>
`
