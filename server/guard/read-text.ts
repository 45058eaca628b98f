/**
 * Reads a body as text.
 *
 * @throws Error if it exceeds `maxBytes` or is not UTF-8.
 */
export async function readText(body: ReadableStream<Uint8Array> | null, maxBytes: number): Promise<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false })
  if (body === null) return ""
  const reader = body.getReader()
  let text = ""
  let size = 0
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return text + decoder.decode()
      size += value.length
      if (size > maxBytes) throw new Error("the body is too large")
      text += decoder.decode(value, { stream: true })
    }
  } catch (error) {
    // Not awaited: cancelling one branch of a cloned body waits for the other branch.
    reader.cancel().catch(() => undefined)
    throw error
  }
}
