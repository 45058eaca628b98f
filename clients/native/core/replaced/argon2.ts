// Replaces hash-wasm in the bundle: the engine has no WebAssembly, and the host derives a key from a passphrase.
import { bytesFrom, primitive } from "../host.ts"
import { invoke } from "../invoke.ts"

interface Options {
  readonly password: string
  readonly salt: Uint8Array
  readonly memorySize: number
  readonly iterations: number
  readonly parallelism: number
  readonly hashLength: number
}

const utf8 = new TextEncoder()

export async function argon2id({ password, salt, memorySize, iterations, parallelism, hashLength }: Options) {
  const passphrase = utf8.encode(password)
  const args = [passphrase, salt, memorySize, iterations, parallelism, hashLength] as const
  return bytesFrom(await invoke(primitive.ARGON2ID, ...args), primitive.ARGON2ID, hashLength)
}
