// Bundles the Worker into one file, for deployment, local start and tests.
import { mkdir, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { gzipSync } from "node:zlib"
import { build, type Metafile } from "esbuild"
import { packDescriptors } from "./pack-descriptors.ts"
import { platformCrypto } from "./platform-crypto.ts"
import { slimRules } from "./slim-rules.ts"

export interface Bundle {
  /** An ES module with the Worker's handlers and its objects' classes. */
  readonly code: string
  readonly bytes: number
  /** The size that counts against the platform's limit. */
  readonly gzipBytes: number
  /** The bundled source files, and the size of each part. */
  readonly parts: Metafile["inputs"]
}

const root = join(import.meta.dirname, "../../..")
export const entry = join(root, "server/edge/worker/worker.ts")
/** The Worker that moves places from and to the other Worker's objects. */
export const transferEntry = join(root, "server/edge/worker/transfer/worker.ts")
/** The size limit: an isolate loads the bundle before its first answer. */
export const maxGzipBytes = 169_000
/** The output of `npm run edge:build`, which the deployment configuration names. */
export const bundleFile = join(root, "dist/edge/worker.mjs")
export const transferFile = join(root, "dist/edge/transfer.mjs")

/** @param from Another entry point, for tests of parts of the Worker. */
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

/** Writes the bundle to the deployed path. */
export async function writeBundle({ code }: Bundle, file: string = bundleFile): Promise<void> {
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, code)
}
