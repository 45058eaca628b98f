import { SecretBoxError } from "@signet/client"

/**
 * @throws SecretBoxError INSECURE_CONTEXT: an attacker on the network could have changed the page, and read everything.
 */
export function checkSecureContext(): void {
  if (globalThis.isSecureContext) return
  throw new SecretBoxError("INSECURE_CONTEXT", "secrets require a secure context (https or localhost)")
}
