// npm run edge:build: writes the bundle that wrangler deploys, and prints its size.
import { buildWorker, bundleFile, maxGzipBytes, transferEntry, transferFile, writeBundle } from "./build.ts"

const bundle = await buildWorker()
await writeBundle(bundle)
await writeBundle(await buildWorker(transferEntry), transferFile)
const kilobytes = (bytes: number) => `${Math.ceil(bytes / 1_000)} KB`
console.log(`${bundleFile}: ${kilobytes(bundle.bytes)}, ${kilobytes(bundle.gzipBytes)} in gzip`)
if (bundle.gzipBytes > maxGzipBytes) {
  console.error(`The limit is ${kilobytes(maxGzipBytes)} in gzip.`)
  process.exit(1)
}
