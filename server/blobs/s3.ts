// Stores blobs in an S3 bucket: path-style URLs, signed with AWS Signature Version 4.
import { createHash } from "node:crypto"
import { Refused } from "@signet/kernel/errors"
import type { BlobStore } from "@signet/kernel/messaging/ports"
import { AwsV4Signer } from "aws4fetch"
import { checkBytes, checkKey, maxBlobBytes, storageFull, unavailable } from "./key.ts"

export interface S3Settings {
  /** An origin: scheme, host and port. */
  readonly endpoint: string
  readonly bucket: string
  readonly region: string
  readonly keyId: string
  readonly secret: string
  /** Validity of a presigned URL, in seconds. */
  readonly presignedSeconds: number
  /** Timeout of a request, in milliseconds. */
  readonly timeoutMs: number
  /** Milliseconds since the Unix epoch. The store accepts a signature within some minutes of its time. */
  readonly nowMs: () => number
}

type Verb = "PUT" | "GET" | "HEAD" | "DELETE"

/** Sends no request at the start: an unreachable store makes attachments UNAVAILABLE and affects nothing else. */
export function createS3Blobs(settings: S3Settings): BlobStore {
  const { endpoint, bucket, region, keyId, secret, presignedSeconds, timeoutMs, nowMs } = settings
  const urlOf = (key: string) => new URL(`/${bucket}/${checkKey(key)}`, endpoint)
  const signed = {
    accessKeyId: keyId,
    secretAccessKey: secret,
    service: "s3",
    region,
    // Shared, because it caches the signing key of the day.
    cache: new Map<string, ArrayBuffer>(),
  }
  // ISO 8601, basic format, to the second.
  const datetime = () => new Date(nowMs()).toISOString().replace(/[:-]|\.\d{3}/g, "")

  /** Sends a request. @returns The successful response; undefined if the object does not exist. */
  async function ask(verb: Verb, key: string, body?: Uint8Array<ArrayBuffer>): Promise<Response | undefined> {
    const headers = { "x-amz-content-sha256": hashOf(body ?? new Uint8Array()) }
    const request = await new AwsV4Signer({
      ...signed,
      method: verb,
      url: urlOf(key).href,
      headers,
      datetime: datetime(),
    }).sign()
    const response = await fetch(request.url, {
      method: verb,
      headers: request.headers,
      redirect: "error",
      signal: AbortSignal.timeout(timeoutMs),
      ...(body === undefined ? {} : { body }),
    })
    if (response.ok) return response
    // Only the error code of the body tells a missing bucket from a missing object. HEAD has no body.
    const code = verb === "HEAD" ? "" : errorCodeOf(await readAtMost(response, 65_536))
    if (response.status === 404 && code !== "NoSuchBucket" && verb !== "PUT") return undefined
    const cause = new Error(`the blob store responded with ${response.status} ${code}`)
    throw isFull(response.status, code) ? storageFull(cause) : unavailable(cause)
  }

  return {
    async put(key, bytes) {
      const response = await refusing(() => ask("PUT", key, new Uint8Array(checkBytes(bytes))))
      await response?.body?.cancel()
    },

    get: (key) =>
      refusing(async () => {
        const response = await ask("GET", key)
        return response && readAtMost(response, maxBlobBytes)
      }),

    size: (key) =>
      refusing(async () => {
        const response = await ask("HEAD", key)
        if (response === undefined) return undefined
        const length = response.headers.get("content-length") ?? ""
        if (!/^\d{1,15}$/.test(length)) throw new Error("the blob store's response has no content-length")
        return Number(length)
      }),

    async delete(key) {
      const response = await refusing(() => ask("DELETE", key))
      await response?.body?.cancel()
    },

    async presign(verb, key, size) {
      const url = urlOf(key)
      url.searchParams.set("X-Amz-Expires", String(presignedSeconds))
      const { url: address } = await new AwsV4Signer({
        ...signed,
        method: verb,
        url: url.href,
        datetime: datetime(),
        signQuery: true,
        // The signed length lets the URL accept exactly this many bytes.
        ...(verb === "PUT" ? { headers: { "content-length": String(size) }, allHeaders: true } : {}),
      }).sign()
      return address.href
    },
  }
}

const hashOf = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex")

const isFull = (status: number, code: string): boolean =>
  status === 507 || /^(XMinioStorageFull|XMinioAdminBucketQuotaExceeded|QuotaExceeded|InsufficientStorage)$/.test(code)

/** The error code in the XML body; empty if there is none. A pattern finds it without an XML parser. */
const errorCodeOf = (body: Uint8Array): string =>
  /<Code>(\w{1,64})<\/Code>/.exec(new TextDecoder().decode(body))?.[1] ?? ""

/** Counts the received bytes, because the announced length may be false. */
async function readAtMost(response: Response, max: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    if (size > max) throw new Error("the blob store sent more bytes than its content-length")
    chunks.push(chunk)
  }
  return new Uint8Array(Buffer.concat(chunks))
}

async function refusing<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof Refused) throw error
    throw unavailable(error)
  }
}
