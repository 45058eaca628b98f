interface Source<T> {
  pull?(controller: { enqueue(piece: T): void; close(): void }): Promise<void> | void
  cancel?(reason?: unknown): Promise<void> | void
}

/** A stream that is pulled by one reader, piece by piece. It has no queue: attachments are created with highWaterMark 0. */
export class ReadableStream<T> {
  readonly #source: Source<T>

  constructor(source: Source<T>) {
    this.#source = source
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    const pieces: T[] = []
    let isClosed = false
    const controller = {
      enqueue: (piece: T) => void pieces.push(piece),
      close() {
        isClosed = true
      },
    }
    let isOver = false
    try {
      while (!isClosed) {
        await this.#source.pull?.(controller)
        yield* pieces.splice(0)
      }
      isOver = true
    } finally {
      if (!isOver) await this.#source.cancel?.()
    }
  }
}
