// A secret box under a key that the operator puts into a Worker's secret. The storage has each scope's keys, sealed.
import { type ByteStorage, type Lock, type SecretBox, type SecretBoxDescription, SecretBoxError } from "@signet/client"
import { importSealingKey, openBytes, scopeText, sealBytes } from "../../core/platform.ts"
import { createKeptBox } from "../../node/secret-box/kept-box.ts"

const keyBytes = 32
const purpose = "keys"
const description: SecretBoxDescription = {
  ...{ backend: "worker-secret", version: 1 },
  ...{ hardware: false, deviceBound: false, persistent: true },
}

interface WorkerSecretBoxOptions {
  /** 32 random bytes. Without them no stored row opens. */
  readonly key: Uint8Array
  readonly storage: ByteStorage
  readonly lock: Lock
}

/** @throws SecretBoxError SECURE_STORE_UNAVAILABLE for a key of another length. */
export function createWorkerSecretBox({ key, storage, lock }: WorkerSecretBoxOptions): SecretBox {
  if (key.length !== keyBytes) {
    throw new SecretBoxError("SECURE_STORE_UNAVAILABLE", `secretKey must have ${keyBytes} bytes, and has ${key.length}`)
  }
  const sealing = importSealingKey(new Uint8Array(key))
  const nameOf = (scope: Parameters<SecretBox["createKey"]>[0]) => `box ${scopeText(scope)}`
  return createKeptBox(
    description,
    {
      async read(scope) {
        const kept = await storage.read(nameOf(scope))
        const own = await sealing
        return kept && openBytes(description, (id) => (id === own.id ? own : undefined), { scope, purpose }, kept.bytes)
      },
      async write(scope, bytes) {
        await storage.write(
          nameOf(scope),
          await sealBytes(description, await sealing, { scope, purpose }, bytes),
          "any",
        )
      },
      async remove(scope) {
        await storage.remove(nameOf(scope), "any")
      },
    },
    lock,
  )
}
