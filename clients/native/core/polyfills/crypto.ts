// The parts of WebCrypto that the client uses outside its ports: random values, SHA-256, and AES-GCM with raw keys.
import { bytesFrom, primitive, random, sha256 } from "../host.ts"
import { invoke } from "../invoke.ts"
import { viewOf } from "./text.ts"

type Source = ArrayBuffer | ArrayBufferView

interface GcmParameters {
  readonly name: string
  readonly iv: Source
  readonly additionalData?: Source
}

/** A key of AES-GCM. Only this module reads its bytes. */
class AesKey {
  readonly #raw: Uint8Array
  constructor(raw: Uint8Array) {
    this.#raw = raw
  }
  static rawOf(key: AesKey): Uint8Array {
    return key.#raw
  }
}

const refused = (what: string) => new DOMException(`${what} is not supported here`, "NotSupportedError")

function checkAlgorithm(name: unknown): void {
  if (name !== "AES-GCM") throw refused("another algorithm than AES-GCM")
}

async function crypt(
  operation: typeof primitive.AES_GCM_SEAL | typeof primitive.AES_GCM_OPEN,
  { name, iv, additionalData = new Uint8Array() }: GcmParameters,
  key: AesKey,
  data: Source,
): Promise<ArrayBuffer> {
  checkAlgorithm(name)
  const made = await invoke(operation, AesKey.rawOf(key), viewOf(iv), viewOf(additionalData), viewOf(data))
  if (made === undefined) throw new DOMException("the operation failed", "OperationError")
  return ownBuffer(bytesFrom(made, operation))
}

const ownBuffer = (bytes: Uint8Array<ArrayBuffer>): ArrayBuffer =>
  bytes.length === bytes.buffer.byteLength ? bytes.buffer : bytes.slice().buffer

const subtle = {
  async digest(name: string, data: Source): Promise<ArrayBuffer> {
    if (name !== "SHA-256") throw refused("another hash than SHA-256")
    return ownBuffer(sha256(viewOf(data)))
  },
  async importKey(format: string, data: Source, algorithm: string): Promise<AesKey> {
    if (format !== "raw") throw refused("another key format than raw")
    checkAlgorithm(algorithm)
    return new AesKey(viewOf(data).slice())
  },
  encrypt: (parameters: GcmParameters, key: AesKey, data: Source) =>
    crypt(primitive.AES_GCM_SEAL, parameters, key, data),
  decrypt: (parameters: GcmParameters, key: AesKey, data: Source) =>
    crypt(primitive.AES_GCM_OPEN, parameters, key, data),
}

export const cryptoGlobal = {
  subtle,
  getRandomValues<T extends ArrayBufferView>(array: T): T {
    viewOf(array).set(random(array.byteLength))
    return array
  },
}
