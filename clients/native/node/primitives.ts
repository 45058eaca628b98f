// The primitives on node:crypto.
import { createCipheriv, createDecipheriv, createHash, createSecretKey, type Hash, randomFillSync } from "node:crypto"
import { nodeSigner, nodeVerify } from "@signet/canonical/node/ed25519"
import { Primitive } from "@signet/proto/host/v1/host"
import { makeNodeSuite } from "../../node/crypto/suite.ts"
import type { Primitives } from "../wasm/platform.ts"
import type { Value } from "../wasm/values.ts"
import type { SigningRoots } from "./signing-roots.ts"

const tagBytes = 16
const suite = makeNodeSuite()
const utf8 = { encoder: new TextEncoder(), decoder: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }) }

interface NodePrimitiveOptions {
  /** The signing roots of held boxes. */
  readonly roots: SigningRoots
  /** Writes a line of the core's log. Default: none. */
  readonly log?: ((level: number, text: string) => void) | undefined
}

export function nodePrimitives({ roots, log }: NodePrimitiveOptions): Primitives {
  return { ...general(log), ...hashes(), ...ciphers(), ...signatures(roots) }
}

function general(log: NodePrimitiveOptions["log"]): Primitives {
  return {
    [Primitive.RANDOM]: (length) => {
      const size = numberFrom(length)
      return size <= 65_536 ? randomFillSync(new Uint8Array(size)) : undefined
    },
    [Primitive.NOW]: () => Date.now(),
    [Primitive.MONOTONIC]: () => Math.round(performance.now() * 1_000),
    [Primitive.UTF8_ENCODE]: (text) => utf8.encoder.encode(String(text)),
    [Primitive.UTF8_DECODE]: (bytes) => orNothing(() => utf8.decoder.decode(bytesFrom(bytes))),
    [Primitive.LOG]: (level, text) => {
      log?.(numberFrom(level), String(text))
      return undefined
    },
  }
}

/** Running hashes that are never ended would fill the memory. */
const mostHashes = 64

function hashes(): Primitives {
  const running = new Map<number, Hash>()
  let last = 0
  return {
    [Primitive.SHA256]: (data) => createHash("sha256").update(bytesFrom(data)).digest(),
    [Primitive.SHA512]: (data) => createHash("sha512").update(bytesFrom(data)).digest(),
    [Primitive.HMAC_SHA256]: (key, data) => sync(suite.mac(bytesFrom(key), bytesFrom(data))),
    [Primitive.HKDF_EXPAND]: (key, info, length) =>
      sync(suite.expand(bytesFrom(key), bytesFrom(info), numberFrom(length))),
    [Primitive.HASH_BEGIN]: () => {
      const [oldest] = running.keys()
      if (running.size >= mostHashes && oldest !== undefined) running.delete(oldest)
      running.set(++last, createHash("sha256"))
      return last
    },
    [Primitive.HASH_UPDATE]: (hash, data) => {
      running.get(numberFrom(hash))?.update(bytesFrom(data))
      return undefined
    },
    [Primitive.HASH_END]: (hash) => {
      const found = running.get(numberFrom(hash))
      running.delete(numberFrom(hash))
      return found?.digest()
    },
  }
}

function ciphers(): Primitives {
  return {
    [Primitive.AES_GCM_SEAL]: (key, nonce, aad, plaintext) => {
      const secret = createSecretKey(bytesFrom(key))
      const cipher = createCipheriv(gcmFor(secret.symmetricKeySize), secret, bytesFrom(nonce)).setAAD(bytesFrom(aad))
      return Buffer.concat([cipher.update(bytesFrom(plaintext)), cipher.final(), cipher.getAuthTag()])
    },
    [Primitive.AES_GCM_OPEN]: (key, nonce, aad, sealed) =>
      orNothing(() => {
        const secret = createSecretKey(bytesFrom(key))
        const bytes = bytesFrom(sealed)
        const end = bytes.length - tagBytes
        const cipher = createDecipheriv(gcmFor(secret.symmetricKeySize), secret, bytesFrom(nonce))
        cipher.setAAD(bytesFrom(aad)).setAuthTag(bytes.subarray(end))
        return Buffer.concat([cipher.update(bytes.subarray(0, end)), cipher.final()])
      }),
    [Primitive.X25519_PUBLIC]: (key) => sync(suite.dhKeyPair(bytesFrom(key))).publicKey,
    [Primitive.X25519]: (key, peer) => orNothing(() => sync(suite.dh(bytesFrom(key), bytesFrom(peer)))),
  }
}

function signatures(roots: SigningRoots): Primitives {
  return {
    [Primitive.ED25519_GENERATE]: (box) => {
      const reference = randomFillSync(new Uint8Array(32))
      const seed = roots.seedOf(numberFrom(box), reference)
      return seed && Buffer.concat([reference, nodeSigner(seed).publicKey])
    },
    [Primitive.ED25519_SIGN]: (box, reference, message) => {
      const seed = roots.seedOf(numberFrom(box), bytesFrom(reference))
      return seed && nodeSigner(seed).sign(bytesFrom(message))
    },
    [Primitive.ED25519_VERIFY]: (publicKey, message, signature) =>
      nodeVerify(bytesFrom(publicKey), bytesFrom(message), bytesFrom(signature)) ? 1 : 0,
  }
}

function gcmFor(keyBytes: number | undefined): "aes-128-gcm" | "aes-256-gcm" {
  return keyBytes === 16 ? "aes-128-gcm" : "aes-256-gcm"
}

function bytesFrom(value: Value): Uint8Array {
  if (value instanceof Uint8Array) return value
  throw new TypeError("the core passed no bytes")
}

function numberFrom(value: Value): number {
  if (typeof value === "number") return value
  throw new TypeError("the core passed no number")
}

/** Node's suite is synchronous throughout. */
function sync<T>(value: T | Promise<T>): T {
  if (value instanceof Promise) throw new TypeError("the suite is not synchronous")
  return value
}

function orNothing<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}
