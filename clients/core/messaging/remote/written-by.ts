import type { FileRegistry } from "./files.ts"

interface Part {
  readonly bytes: Uint8Array
  taken(): void
  drop(): void
}

/**
 * The bytes that a call of the core writes to a file. The core waits until each part is read.
 *
 * @param call Writes to the path, and ends with the file.
 */
export async function* writtenBy(
  files: FileRegistry,
  call: (path: string) => Promise<unknown>,
): AsyncGenerator<Uint8Array, void> {
  // The core writes one part at a time.
  let part: Part | undefined
  let end: { readonly error?: unknown } | undefined
  let wake = () => {}
  const { path, withdraw } = files.receive(
    (bytes) =>
      new Promise((taken, reject) => {
        part = { bytes, taken, drop: () => reject(new Error("the reader has left")) }
        wake()
      }),
  )
  const ended = (how: { readonly error?: unknown }) => {
    end = how
    wake()
  }
  call(path).then(
    () => ended({}),
    (error: unknown) => ended({ error }),
  )
  try {
    for (;;) {
      const waiting: Part | undefined = part
      if (waiting !== undefined) {
        yield waiting.bytes
        part = undefined
        waiting.taken()
      } else if (end !== undefined) {
        if ("error" in end) throw end.error
        return
      } else {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    }
  } finally {
    withdraw()
    part?.drop()
  }
}
