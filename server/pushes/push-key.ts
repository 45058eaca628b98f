// The key that signs pushes: P-256, for VAPID (RFC 8292) and webhooks.

export interface PushKey {
  /** An uncompressed point: 65 bytes. Browsers call it `applicationServerKey`. */
  readonly publicKey: Uint8Array
  /** Signs with ECDSA and SHA-256. @returns r and s: 64 bytes. */
  sign(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array>
}

const algorithm = { name: "ECDSA", namedCurve: "P-256" } as const

/**
 * Opens a P-256 private key.
 *
 * @param pkcs8 PKCS #8 in DER, as base64.
 * @throws Error without the text of the key.
 */
export async function openPushKey(pkcs8: string): Promise<PushKey> {
  try {
    const der = Uint8Array.from(atob(pkcs8), (char) => char.charCodeAt(0))
    const key = await crypto.subtle.importKey("pkcs8", der, algorithm, true, ["sign"])
    const jwk = await crypto.subtle.exportKey("jwk", key)
    if (jwk instanceof ArrayBuffer) throw new TypeError("not a JSON web key")
    const publicKey = new Uint8Array([4, ...bytesOf(jwk.x), ...bytesOf(jwk.y)])
    return {
      publicKey,
      async sign(bytes) {
        return new Uint8Array(await crypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, key, bytes))
      },
    }
  } catch {
    // The cause is dropped, because it could quote the key.
    throw new Error("SIGNET_PUSH_KEY must be a P-256 private key: PKCS #8 in DER, as base64.")
  }
}

const bytesOf = (base64url = ""): Uint8Array =>
  Uint8Array.from(atob(base64url.replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0))
