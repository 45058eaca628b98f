// Writes tar archives with the same bytes for the same entries: sorted, one time for all, no names of users.
import { gzipSync } from "node:zlib"

export interface Entry {
  /** Path without a leading slash. A folder ends with a slash. */
  readonly path: string
  readonly mode?: number
  /** User and group; 0 by default. */
  readonly owner?: number
  readonly content?: Uint8Array
  /** Target of a symbolic link. */
  readonly link?: string
}

const block = 512

/**
 * @param seconds Unix time of every entry.
 * @returns A ustar archive with the missing parent folders, in byte order of the paths.
 * @throws Error if two entries have one path, or a path does not fit into the format.
 */
export function writeTar(entries: readonly Entry[], seconds: number): Buffer {
  const all = new Map<string, Entry>()
  for (const entry of entries) {
    if (all.has(entry.path)) throw new Error(`two entries are named ${entry.path}`)
    all.set(entry.path, entry)
  }
  for (const { path } of entries) {
    for (let at = path.indexOf("/"); at !== -1 && at < path.length - 1; at = path.indexOf("/", at + 1)) {
      const parent = path.slice(0, at + 1)
      if (!all.has(parent)) all.set(parent, { path: parent })
    }
  }
  const sorted = [...all.values()].sort((a, b) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path)))
  const parts = sorted.flatMap((entry) => {
    const content = entry.content ?? new Uint8Array()
    const padding = Buffer.alloc((block - (content.length % block)) % block)
    return [headerOf(entry, content.length, seconds), content, padding]
  })
  return Buffer.concat([...parts, Buffer.alloc(2 * block)])
}

/** The time and the name are left out of the header of gzip, so that the result depends on the content alone. */
export const writeTarGz = (entries: readonly Entry[], seconds: number): Buffer =>
  gzipSync(writeTar(entries, seconds), { level: 9 })

function headerOf({ path, mode, owner = 0, link }: Entry, size: number, seconds: number): Buffer {
  const isFolder = path.endsWith("/")
  const header = Buffer.alloc(block)
  const { prefix, name } = splitPath(path)
  header.write(name, 0, 100)
  header.write(octal(mode ?? (isFolder ? 0o755 : link === undefined ? 0o644 : 0o777), 8), 100)
  header.write(octal(owner, 8), 108)
  header.write(octal(owner, 8), 116)
  header.write(octal(size, 12), 124)
  header.write(octal(seconds, 12), 136)
  header.write(" ".repeat(8), 148)
  header.write(isFolder ? "5" : link === undefined ? "0" : "2", 156)
  if (link !== undefined) header.write(link, 157, 100)
  header.write("ustar\x0000", 257)
  header.write(prefix, 345, 155)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148)
  return header
}

const octal = (value: number, length: number): string => `${value.toString(8).padStart(length - 1, "0")}\0`

/** A path of more than 100 bytes is stored in two parts, which a slash joins. */
function splitPath(path: string): { prefix: string; name: string } {
  if (Buffer.byteLength(path) <= 100) return { prefix: "", name: path }
  for (let at = path.indexOf("/"); at !== -1 && at < path.length - 1; at = path.indexOf("/", at + 1)) {
    const [prefix, name] = [path.slice(0, at), path.slice(at + 1)]
    if (Buffer.byteLength(name) <= 100 && Buffer.byteLength(prefix) <= 155) return { prefix, name }
  }
  throw new Error(`the path does not fit into a tar header: ${path}`)
}
