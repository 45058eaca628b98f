import { equal } from "../crypto/bytes.ts"
import { type Hpke, makeHpke } from "../crypto/hpke.ts"
import type { Suite } from "../crypto/suite.ts"
import { MlsError } from "./refusal.ts"
import type { CiphersuiteImpl } from "./ts-mls.ts"

/** The only cipher suite of V1 (RFC 9420 section 17.1, value 1). P-256 suites are not reachable from here. */
export const suiteName = "MLS_128_DHKEMX25519_AES128GCM_SHA256_Ed25519"

/** The most leaves of a conversation. */
export const maxLeaves = 1000

/** Returns the device that a credential names. Two leaves of a group never name the same device. */
export type DeviceOf = (credential: Uint8Array) => string

/** The dependencies of every engine operation. */
export interface Kit {
  readonly suite: Suite
  readonly hpke: Hpke
  /** The suite in the form of ts-mls. */
  readonly cs: CiphersuiteImpl
  /** Unix seconds. */
  readonly nowSeconds: () => number
  readonly deviceOf: DeviceOf
}

export function makeKit(suite: Suite, rules: Pick<Kit, "nowSeconds" | "deviceOf">): Kit {
  const deviceOf: DeviceOf = (credential) => {
    try {
      return rules.deviceOf(credential)
    } catch (cause) {
      throw new MlsError("MLS_BAD_LEAF", "the credential names no device", { cause })
    }
  }
  return { nowSeconds: rules.nowSeconds, deviceOf, suite, hpke: makeHpke(suite), cs: asCiphersuite(suite) }
}

const empty = new Uint8Array()

async function unreachable(): Promise<never> {
  throw new Error("keys are sealed, opened and derived by our HPKE only")
}

function asCiphersuite(suite: Suite): CiphersuiteImpl {
  return {
    name: suiteName,
    hash: {
      digest: async (data) => suite.digest(data),
      mac: async (key, data) => suite.mac(key, data),
      verifyMac: async (key, mac, data) => equal(await suite.mac(key, data), mac),
    },
    kdf: {
      size: 32,
      extract: async (salt, input) => suite.extract(salt, input),
      expand: async (key, info, length) => suite.expand(key, info, length),
    },
    signature: {
      sign: async (key, message) => suite.sign(key, message),
      verify: async (key, message, signature) => suite.verify(key, message, signature),
      keygen: unreachable,
    },
    rng: { randomBytes: suite.random },
    hpke: {
      keyLength: 16,
      nonceLength: 12,
      encryptAead: async (key, nonce, aad, plaintext) => suite.seal(key, nonce, aad ?? empty, plaintext),
      decryptAead: async (key, nonce, aad, ciphertext) => suite.open(key, nonce, aad ?? empty, ciphertext),
      seal: unreachable,
      open: unreachable,
      exportSecret: unreachable,
      importSecret: unreachable,
      importPrivateKey: unreachable,
      importPublicKey: unreachable,
      exportPublicKey: unreachable,
      exportPrivateKey: unreachable,
      deriveKeyPair: unreachable,
      generateKeyPair: unreachable,
    },
  }
}
