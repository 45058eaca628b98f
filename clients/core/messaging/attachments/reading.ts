// How an app reads an attachment, in this VM or in another one.

export interface ReadOptions {
  /** The offset of the first byte. Default: 0. Set it to resume a download. */
  readonly from?: number
  /** The offset after the last byte. Default: the end. */
  readonly to?: number
  readonly signal?: AbortSignal
  /** Called with the delivered bytes and the total. */
  readonly onProgress?: (done: number, total: number) => void
}

/** An attachment to read. Nothing is fetched before the first read, and only verified bytes are delivered. */
export interface OpenedAttachment {
  /** Asserted by the sender, not verified; empty for none. Never a path. */
  readonly fileName: string
  /** Asserted by the sender, not verified; empty for none. */
  readonly mediaType: string
  /** In bytes. */
  readonly size: number
  /**
   * Streams the plaintext. The last bytes of a whole file are held back until its hash matches the sender's. For a
   * range, only the tag of each chunk is verified.
   */
  stream(options?: ReadOptions): ReadableStream<Uint8Array>
  /** Reads a range into memory. */
  read(from: number, to: number, options?: Pick<ReadOptions, "signal">): Promise<Uint8Array>
}

/** Fetches only on demand (backpressure). */
export function streamOf(
  source: AsyncGenerator<Uint8Array>,
  options: ReadOptions,
  size: number,
): ReadableStream<Uint8Array> {
  const { from, to } = rangeOf(options, size)
  let done = 0
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const next = await source.next()
        if (next.done === true) return controller.close()
        done += next.value.length
        controller.enqueue(next.value)
        options.onProgress?.(done, to - from)
      },
      async cancel() {
        await source.return(undefined)
      },
    },
    { highWaterMark: 0 },
  )
}

/** @throws RangeError */
export function rangeOf({ from = 0, to }: ReadOptions, size: number): { from: number; to: number } {
  const end = to ?? size
  const isRange = Number.isInteger(from) && Number.isInteger(end) && from >= 0 && from <= end && end <= size
  if (!isRange) throw new RangeError("not a range of this attachment")
  return { from, to: end }
}
