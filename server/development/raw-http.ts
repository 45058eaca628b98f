// HTTP helpers of the stand-in providers, which are mounted on raw requests like the OpenID provider.
import type { IncomingMessage, ServerResponse } from "node:http"

/** Reads the body as text. @throws Error beyond 4 KiB. */
export async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request) {
    size += chunk.length
    if (size > 4_096) throw new Error("the stand-in provider accepts a body of at most 4 KiB")
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString("utf8")
}

export function answer(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { "content-type": type, "cache-control": "no-store" }).end(body)
}

export function answerJson(response: ServerResponse, status: number, body: object): void {
  answer(response, status, "application/json", JSON.stringify(body))
}

/** Parses the members of a JSON object; an empty text has none. Undefined if it is not an object. */
export function parseFields(text: string): Record<string, unknown> | undefined {
  if (text.trim() === "") return {}
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined
    return Object.fromEntries(Object.entries(value))
  } catch {
    return undefined
  }
}
