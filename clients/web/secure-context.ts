import { SecretBoxError } from "@signet/client"

/** @throws SecretBoxError INSECURE_CONTEXT: whoever is between could have changed the page, and take everything. */
export function checkSecureContext(): void {
  if (globalThis.isSecureContext) return
  throw new SecretBoxError("INSECURE_CONTEXT", "secrets are only kept in a page in a secure context")
}
