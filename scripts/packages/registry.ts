// A package registry on loopback that has only our packed packages, so that documented commands run unchanged: `npm i
// @signet/guard` and `npx @signet/server`. npm uses it for our scope only.
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { createServer } from "node:http"
import { basename } from "node:path"

export interface Registry {
  readonly url: string
  close(): void
}

interface Published {
  readonly name: string
  readonly version: string
}

const manifestIn = (tarball: string): Published =>
  JSON.parse(execFileSync("tar", ["-xzOf", tarball, "package/package.json"], { encoding: "utf8" }))

/**
 * @param tarballs Paths of packed packages.
 * @param port 0 selects a free port.
 */
export async function startRegistry(tarballs: Iterable<string>, port = 0): Promise<Registry> {
  const files = new Map<string, Buffer>()
  const packages = new Map<string, object>()
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? "")
    const file = files.get(path)
    if (file !== undefined) return response.end(file)
    const found = packages.get(path)
    response.statusCode = found === undefined ? 404 : 200
    return response.setHeader("content-type", "application/json").end(JSON.stringify(found ?? { error: "not found" }))
  })
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(port, "127.0.0.1", resolve)
  })
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("the registry has no port")
  const url = `http://127.0.0.1:${address.port}`
  for (const tarball of tarballs) {
    const content = readFileSync(tarball)
    const manifest = manifestIn(tarball)
    const { name, version } = manifest
    const integrity = `sha512-${createHash("sha512").update(content).digest("base64")}`
    const dist = { tarball: `${url}/${basename(tarball)}`, integrity }
    files.set(`/${basename(tarball)}`, content)
    packages.set(`/${name}`, { name, "dist-tags": { latest: version }, versions: { [version]: { ...manifest, dist } } })
  }
  return { url, close: () => server.close() }
}
