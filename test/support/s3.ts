// A store with the subset of S3 that attachments need. It verifies signatures independently of the client's library
// (AWS Signature Version 4, "Authenticating Requests").
import { createHash, createHmac, timingSafeEqual } from "node:crypto"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

export interface TestS3 {
  readonly url: string
  /** By `/bucket/key`. */
  readonly objects: Map<string, Buffer>
  readonly requests: string[]
  /** Fails the next request with this error. */
  failNext: { status: number; code: string; body?: Buffer } | null
  close(): Promise<void>
}

export const credentials = { keyId: "AKTEST", secret: "s3cr3t/with+signs", region: "test-1", bucket: "parts" }

class Denied extends Error {
  readonly code: string
  constructor(code: string) {
    super(code)
    this.code = code
  }
}

export async function startTestS3(nowMs: () => number): Promise<TestS3> {
  const objects = new Map<string, Buffer>()
  const requests: string[] = []
  const s3 = { failNext: null as TestS3["failNext"] }

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    const { pathname } = new URL(request.url ?? "", "http://s3")
    requests.push(`${request.method} ${pathname}`)
    const fail = (status: number, code: string, bytes?: Buffer) =>
      response.writeHead(status).end(bytes ?? `<?xml version="1.0"?><Error><Code>${code}</Code></Error>`)
    if (s3.failNext !== null) {
      const { status, code, body } = s3.failNext
      s3.failNext = null
      return fail(status, code, body)
    }
    try {
      verify(request, body, nowMs())
    } catch (error) {
      return fail(403, error instanceof Denied ? error.code : "InternalError")
    }
    if (!pathname.startsWith(`/${credentials.bucket}/`)) return fail(404, "NoSuchBucket")
    if (request.method === "PUT") {
      objects.set(pathname, body)
      return response.writeHead(200).end()
    }
    if (request.method === "DELETE") {
      objects.delete(pathname)
      return response.writeHead(204).end()
    }
    const object = objects.get(pathname)
    if (object === undefined) return fail(404, "NoSuchKey")
    response.writeHead(200, { "content-length": object.length })
    return response.end(request.method === "HEAD" ? undefined : object)
  }
  const server = createServer((request, response) => void answer(request, response))
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  return Object.assign(s3, {
    url: `http://127.0.0.1:${port}`,
    objects,
    requests,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  })
}

function verify(request: IncomingMessage, body: Buffer, nowMs: number): void {
  const [path = "", query = ""] = (request.url ?? "").split("?")
  const params = query === "" ? [] : query.split("&").map((pair) => pair.split("=") as [string, string?])
  const inQuery = (name: string) => decodeURIComponent(params.find(([key]) => key === name)?.[1] ?? "")
  const isPresigned = inQuery("X-Amz-Signature") !== ""
  const header = (name: string) => String(request.headers[name] ?? "")
  const given = /^AWS4-HMAC-SHA256 Credential=(.+?), SignedHeaders=(.+?), Signature=([0-9a-f]{64})$/.exec(
    header("authorization"),
  )
  if (!isPresigned && given === null) throw new Denied("AccessDenied")
  const credential = isPresigned ? inQuery("X-Amz-Credential") : (given?.[1] ?? "")
  const names = (isPresigned ? inQuery("X-Amz-SignedHeaders") : (given?.[2] ?? "")).split(";")
  const signature = isPresigned ? inQuery("X-Amz-Signature") : (given?.[3] ?? "")
  const time = isPresigned ? inQuery("X-Amz-Date") : header("x-amz-date")
  const parts = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(time)
  if (parts === null || !names.includes("host")) throw new Denied("AccessDenied")
  const [, y, mo, d, h, mi, s] = parts.map(Number)
  const signedAtMs = Date.UTC(y ?? 0, (mo ?? 1) - 1, d, h, mi, s)
  const day = time.slice(0, 8)
  const scope = `${day}/${credentials.region}/s3/aws4_request`
  if (credential !== `${credentials.keyId}/${scope}`) throw new Denied("InvalidAccessKeyId")
  if (isPresigned) {
    if (inQuery("X-Amz-Algorithm") !== "AWS4-HMAC-SHA256") throw new Denied("AccessDenied")
    if (nowMs > signedAtMs + Number(inQuery("X-Amz-Expires")) * 1_000) throw new Denied("AccessDenied")
  } else if (Math.abs(nowMs - signedAtMs) > 900_000) throw new Denied("RequestTimeTooSkewed")
  const bodyHash = isPresigned ? "UNSIGNED-PAYLOAD" : header("x-amz-content-sha256")
  if (!isPresigned && bodyHash !== createHash("sha256").update(body).digest("hex")) {
    throw new Denied("XAmzContentSHA256Mismatch")
  }
  const canonicalQuery = params
    .filter(([key]) => key !== "X-Amz-Signature")
    .map(([key, value = ""]) => `${strict(decodeURIComponent(key))}=${strict(decodeURIComponent(value))}`)
    .sort()
    .join("&")
  const canonical = [
    request.method,
    path
      .split("/")
      .map((segment) => strict(decodeURIComponent(segment)))
      .join("/"),
    canonicalQuery,
    ...names.map((name) => `${name}:${header(name).trim().replace(/ +/g, " ")}`),
    "",
    names.join(";"),
    bodyHash,
  ].join("\n")
  const toSign = ["AWS4-HMAC-SHA256", time, scope, createHash("sha256").update(canonical).digest("hex")].join("\n")
  const key = scope
    .split("/")
    .reduce<Buffer>(
      (secret, part) => createHmac("sha256", secret).update(part).digest(),
      Buffer.from(`AWS4${credentials.secret}`),
    )
  const expected = createHmac("sha256", key).update(toSign).digest()
  const told = Buffer.from(signature, "hex")
  if (told.length !== 32 || !timingSafeEqual(told, expected)) throw new Denied("SignatureDoesNotMatch")
}

/** RFC 3986: escapes all but unreserved characters. */
const strict = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
