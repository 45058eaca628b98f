import type { MessageInitShape } from "@bufbuild/protobuf"
import { Primitive, type PrimitiveCall, type PrimitiveResultSchema } from "@signet/proto/host/v1/host"
import type { Suite } from "../../../core/messaging/crypto/suite.ts"
import { stretchPassphrase } from "../../../core/passphrase-key.ts"
import { boxFailureOf, type WorkerBoxes } from "./boxes.ts"

/** The primitives that WebCrypto computes, asynchronously. */
export const deferredPrimitives: readonly Primitive[] = [
  Primitive.AES_GCM_SEAL,
  Primitive.AES_GCM_OPEN,
  Primitive.X25519_PUBLIC,
  Primitive.X25519,
  Primitive.ED25519_GENERATE,
  Primitive.ED25519_SIGN,
  Primitive.ED25519_IMPORT,
  Primitive.ARGON2ID,
  Primitive.BOX_SEAL,
  Primitive.BOX_OPEN,
]

type Answer = MessageInitShape<typeof PrimitiveResultSchema>

const text = new TextDecoder()
const nothing = new Uint8Array()

/** Computes a deferred primitive. An answer without a field refuses. */
export async function callDeferred(suite: Suite, boxes: WorkerBoxes, call: PrimitiveCall): Promise<Answer> {
  const [a = nothing, b = nothing, c = nothing, d = nothing] = call.bytes
  const [box, passes = 0, lanes = 0] = call.numbers
  switch (call.primitive) {
    case Primitive.AES_GCM_SEAL:
      return { bytes: await suite.seal(a, b, c, d) }
    case Primitive.AES_GCM_OPEN:
      return orRefuse(async () => suite.open(a, b, c, d))
    case Primitive.X25519_PUBLIC:
      return { bytes: (await suite.dhKeyPair(a)).publicKey }
    case Primitive.X25519:
      return orRefuse(async () => suite.dh(a, b))
    case Primitive.ED25519_GENERATE: {
      const { reference, publicKey } = await boxes.signing.generate(boxes.of(box).scope)
      const both = new Uint8Array(reference.length + publicKey.length)
      both.set(reference)
      both.set(publicKey, reference.length)
      return { bytes: both }
    }
    case Primitive.ED25519_IMPORT:
      return { bytes: await boxes.signing.importSeed(boxes.of(box).scope, a, b) }
    case Primitive.ED25519_SIGN:
      return { bytes: await boxes.signing.sign(boxes.of(box).scope, a, b) }
    case Primitive.ARGON2ID:
      return { bytes: await stretchPassphrase(text.decode(a), { memoryKiB: box ?? 0, passes, lanes }, b) }
    case Primitive.BOX_SEAL:
      return orBoxFailure(() => boxes.of(box).sealing.seal(text.decode(a), b))
    case Primitive.BOX_OPEN:
      return orBoxFailure(() => boxes.of(box).sealing.open(text.decode(a), b))
    default:
      return {}
  }
}

async function orRefuse(work: () => Promise<Uint8Array>): Promise<Answer> {
  try {
    return { bytes: await work() }
  } catch {
    return {}
  }
}

async function orBoxFailure(work: () => Promise<Uint8Array>): Promise<Answer> {
  try {
    return { bytes: await work() }
  } catch (error) {
    const number = boxFailureOf(error)
    if (number === undefined) throw error
    return { number }
  }
}
