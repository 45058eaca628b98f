// The request of a push. It has no content, and the same size each time.
import { type PushEndpoint, pushLimits } from "@signet/kernel/messaging/push"
import type { Random } from "@signet/kernel/ports"
import type { PushKey } from "./push-key.ts"

export interface PushRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Empty, or 64 bytes. */
  readonly body: Uint8Array<ArrayBuffer>
}

interface PushSigning {
  readonly key: PushKey
  /** How a push service reaches the operator: a `mailto:` or `https:` URI (RFC 8292 section 2.1). */
  readonly contact: string
  readonly random: Random
}

/** Lifetime of a VAPID token in seconds. Push services accept at most a day. */
const tokenSeconds = 43_200
/** Also the prefix of what the key signs: a VAPID token begins with base64url of `{"`, and never with it. */
const bodyLabel = "signet push v1\0\0"
const bodyBytes = 64

/** @param endpoint Its URL was accepted when it was set. */
export function pushRequest(signing: PushSigning, endpoint: PushEndpoint, nowMs: number): Promise<PushRequest> {
  return endpoint.kind === "WEB_PUSH" ? webPush(signing, endpoint, nowMs) : webhook(signing, endpoint, nowMs)
}

async function webPush({ key, contact }: PushSigning, { url }: PushEndpoint, nowMs: number): Promise<PushRequest> {
  const claims = { aud: new URL(url).origin, exp: Math.floor(nowMs / 1_000) + tokenSeconds, sub: contact }
  const signed = `${base64url(utf8(JSON.stringify({ typ: "JWT", alg: "ES256" })))}.${base64url(utf8(JSON.stringify(claims)))}`
  const token = `${signed}.${base64url(await key.sign(utf8(signed)))}`
  return {
    url,
    headers: {
      authorization: `vapid t=${token}, k=${base64url(key.publicKey)}`,
      "content-length": "0",
      // A later push replaces an undelivered one. The topic is the same for every device.
      topic: "signet",
      ttl: String(pushLimits.ttlSeconds),
    },
    body: new Uint8Array(),
  }
}

async function webhook(
  { key, random }: PushSigning,
  { url, registrationId }: PushEndpoint,
  nowMs: number,
): Promise<PushRequest> {
  const body = new Uint8Array(bodyBytes)
  body.set(utf8(bodyLabel))
  body.set(registrationId, 16)
  new DataView(body.buffer).setBigUint64(32, BigInt(nowMs))
  body.set(random.bytes(24), 40)
  return {
    url,
    headers: {
      "content-type": "application/octet-stream",
      "content-length": String(bodyBytes),
      "signet-signature": base64url(await key.sign(body)),
    },
    body,
  }
}

const utf8 = (text: string): Uint8Array<ArrayBuffer> => new Uint8Array(new TextEncoder().encode(text))

const base64url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "")
