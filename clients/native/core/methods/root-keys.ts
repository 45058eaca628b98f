import { ArgumentError } from "../failure.ts"

/** @throws ArgumentError */
export function checkRootKeys(keys: readonly Uint8Array[]): void {
  if (keys.length === 0 || keys.some((key) => key.length !== 32)) {
    throw new ArgumentError("issuer_root_keys must have at least one key, of 32 bytes each")
  }
}
