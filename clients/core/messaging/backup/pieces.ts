/** A file or a network stream, read from its first byte: `file.stream()` in a page, a read stream in Node. */
export type BackupSource = AsyncIterable<Uint8Array> | Iterable<Uint8Array> | ReadableStream<Uint8Array>

/** The pieces of a source, in order. */
export function piecesOf(source: BackupSource): AsyncIterator<Uint8Array> | Iterator<Uint8Array> {
  // Some browsers do not iterate over a ReadableStream.
  if ("getReader" in source) return readStream(source)
  return Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]()
}

async function* readStream(source: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = source.getReader()
  try {
    for (;;) {
      const { value, done } = await reader.read()
      if (done) return
      yield value
    }
  } finally {
    await reader.cancel()
  }
}
