import type { Suite } from "../../core/messaging/platform.ts"

/** Records created and derived secrets, and finds them in texts. */
export interface Taint {
  /** @param name The kind of secret. */
  add(name: string, secret: Uint8Array | string): void
  readonly count: number
  /** The recorded secrets, as bytes. */
  readonly secrets: readonly { readonly name: string; readonly bytes: Uint8Array }[]
  /** Names of the secrets that a text contains, in any common encoding of bytes. */
  in(text: string): string[]
}

export function createTaint(): Taint {
  const secrets = new Map<string, string>()
  const all: { readonly name: string; readonly bytes: Uint8Array }[] = []
  return {
    secrets: all,
    add(name, secret) {
      const bytes = typeof secret === "string" ? new TextEncoder().encode(secret) : secret
      // Shorter ones occur by chance.
      if (bytes.length < 12 || bytes.every((byte) => byte === bytes[0])) return
      if (typeof secret === "string") secrets.set(secret, name)
      all.push({ name, bytes: bytes.slice() })
      for (const form of formsOf(bytes)) secrets.set(form, name)
    },
    get count() {
      return secrets.size
    },
    in: (text) => [...new Set([...secrets].filter(([form]) => text.includes(form)).map(([, name]) => name))],
  }
}

/** In hexadecimal, as a JSON array of numbers, and in base64 at any offset. */
function formsOf(bytes: Uint8Array): string[] {
  const hex = Buffer.from(bytes).toString("hex")
  const array = [...bytes].join(",")
  const inBase64 = [0, 1, 2].map((offset) => {
    const text = Buffer.concat([Buffer.alloc(offset), bytes]).toString("base64")
    // The characters that encode only bits of these bytes.
    return text.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6))
  })
  const inBase64Url = inBase64.map((text) => text.replaceAll("+", "-").replaceAll("/", "_"))
  return [hex, hex.toUpperCase(), array, ...inBase64, ...inBase64Url]
}

/** The suite, with every created secret recorded. */
export function taintedSuite(suite: Suite, taint: Taint): Suite {
  async function kept(name: string, made: Uint8Array | Promise<Uint8Array>): Promise<Uint8Array> {
    const bytes = await made
    taint.add(name, bytes)
    return bytes
  }
  return {
    ...suite,
    extract: (salt, input) => kept("an extracted secret", suite.extract(salt, input)),
    expand: (key, info, length) => kept("an expanded secret", suite.expand(key, info, length)),
    dh: (privateKey, publicKey) => kept("a shared secret", suite.dh(privateKey, publicKey)),
    async dhKeyPair(given) {
      const pair = await suite.dhKeyPair(given)
      taint.add("a private key", pair.privateKey)
      return pair
    },
    async signatureKeyPair() {
      const pair = await suite.signatureKeyPair()
      taint.add("the identity key", pair.seed)
      return pair
    },
  }
}
