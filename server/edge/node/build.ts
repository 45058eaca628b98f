// The Worker as one file: what is deployed, started locally and tested is bundled here.
import { mkdir, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { gzipSync } from "node:zlib"
import { build, type Metafile } from "esbuild"
import { packDescriptors } from "./pack-descriptors.ts"
import { platformCrypto } from "./platform-crypto.ts"
import { slimRules } from "./slim-rules.ts"

export interface Bundle {
  /** An ES module: the Worker's handlers, and the classes of its objects. */
  readonly code: string
  readonly bytes: number
  /** What counts against the platform's limit. */
  readonly gzipBytes: number
  /** What of the sources is in it, and how much of each. */
  readonly parts: Metafile["inputs"]
}

const root = join(import.meta.dirname, "../../..")
export const entry = join(root, "server/edge/worker/worker.ts")
/** Of the Worker that moves places from and to the objects of the other. */
export const transferEntry = join(root, "server/edge/worker/transfer/worker.ts")
/** The largest that it may get: what an isolate has to load before it answers for the first time. */
export const maxGzipBytes = 155_000
/** Where `npm run edge:build` puts it and the deployment configuration looks for it. */
export const bundleFile = join(root, "dist/edge/worker.mjs")
export const transferFile = join(root, "dist/edge/transfer.mjs")

/** @param from Another entry than the Worker's own: for tests of parts of it. */
export async function buildWorker(from: string = entry): Promise<Bundle> {
  const { outputFiles, metafile } = await build({
    entryPoints: [from],
    absWorkingDir: root,
    bundle: true,
    write: false,
    metafile: true,
    minify: true,
    format: "esm",
    target: "es2024",
    charset: "utf8",
    platform: "neutral",
    mainFields: ["module", "main"],
    conditions: ["workerd", "worker", "import"],
    external: ["node:*", "cloudflare:workers"],
    plugins: [slimRules, platformCrypto],
    logLevel: "silent",
  })
  const [file] = outputFiles
  const output = Object.values(metafile.outputs)[0]
  if (file === undefined || output === undefined) throw new Error("esbuild wrote nothing")
  const code = packDescriptors(file.text)
  return {
    code,
    bytes: Buffer.byteLength(code),
    gzipBytes: gzipSync(code, { level: 9 }).length,
    parts: Object.fromEntries(
      Object.entries(metafile.inputs).filter(([path]) => (output.inputs[path]?.bytesInOutput ?? 0) > 0),
    ),
  }
}

/** Writes the bundle where it is deployed from. */
export async function writeBundle({ code }: Bundle, file: string = bundleFile): Promise<void> {
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, code)
}
