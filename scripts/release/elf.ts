// Reads which shared libraries a 64-bit little-endian ELF file needs, without running it: the file may be of another
// architecture.

const dynamicSegment = 2
const interpreterSegment = 3
const loadSegment = 1
const tag = { end: 0, needed: 1, stringTable: 5 }

interface Segment {
  readonly type: number
  readonly offset: number
  readonly address: number
  readonly size: number
}

export interface Needs {
  /** Names of libraries, such as `libc.so.6`. */
  readonly libraries: readonly string[]
  /** Absolute path of the dynamic linker; undefined for a library. */
  readonly interpreter: string | undefined
}

/** @throws Error if the file is not a 64-bit little-endian ELF file. */
export function readNeeds(file: Buffer): Needs {
  if (file.toString("latin1", 0, 4) !== "\x7fELF" || file[4] !== 2 || file[5] !== 1) {
    throw new Error("the file is not a 64-bit little-endian ELF file")
  }
  const segments = readSegments(file)
  const interpreter = segments.find(({ type }) => type === interpreterSegment)
  return {
    libraries: readLibraries(file, segments),
    interpreter: interpreter && textAt(file, interpreter.offset),
  }
}

function readSegments(file: Buffer): readonly Segment[] {
  const start = Number(file.readBigUInt64LE(32))
  const [size, count] = [file.readUInt16LE(54), file.readUInt16LE(56)]
  return Array.from({ length: count }, (_, index) => {
    const at = start + index * size
    return {
      type: file.readUInt32LE(at),
      offset: Number(file.readBigUInt64LE(at + 8)),
      address: Number(file.readBigUInt64LE(at + 16)),
      size: Number(file.readBigUInt64LE(at + 32)),
    }
  })
}

function readLibraries(file: Buffer, segments: readonly Segment[]): readonly string[] {
  const dynamic = segments.find(({ type }) => type === dynamicSegment)
  if (dynamic === undefined) return []
  const entries: { readonly kind: number; readonly value: number }[] = []
  for (let at = dynamic.offset; at < dynamic.offset + dynamic.size; at += 16) {
    const kind = Number(file.readBigUInt64LE(at))
    if (kind === tag.end) break
    entries.push({ kind, value: Number(file.readBigUInt64LE(at + 8)) })
  }
  const table = entries.find(({ kind }) => kind === tag.stringTable)?.value ?? 0
  const segment = segments.find(
    ({ type, address, size }) => type === loadSegment && table >= address && table < address + size,
  )
  if (segment === undefined) return []
  const strings = table - segment.address + segment.offset
  return entries.filter(({ kind }) => kind === tag.needed).map(({ value }) => textAt(file, strings + value))
}

const textAt = (file: Buffer, at: number): string => file.toString("latin1", at, file.indexOf(0, at))
