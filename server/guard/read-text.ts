/**
 * A body as text.
 *
 * @throws when it is longer, or no UTF-8.
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
    // Not awaited: half of a body that was cloned waits for the other half.
    reader.cancel().catch(() => undefined)
    throw error
  }
}
