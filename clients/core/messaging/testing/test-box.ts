import { equalBytes, utf8 } from "@signet/canonical/bytes"
import { type SecretBox, SecretBoxError, type SecretScope } from "../../secret-box.ts"

/**
 * A secret box for tests, without encryption: it prepends the authenticated context and compares it. Tests can search
 * the sealed bytes for data that must not be stored.
 */
export function testBox(backend = "test"): SecretBox {
  const scopes = new Set<string>()
  const nameOf = ({ tenant = "", app, user = "", device = "" }: SecretScope) => [tenant, app, user, device].join("|")
  const prefixOf = (scope: SecretScope, purpose: string) => utf8(`${backend}\n${nameOf(scope)}\n${purpose}\n`)
  const ensureKey = (scope: SecretScope) => {
    if (!scopes.has(nameOf(scope))) throw new SecretBoxError("KEY_MISSING", "no key was made for this scope")
  }
  return {
    describe: () => ({ backend, version: 1, hardware: false, deviceBound: false, persistent: false }),
    async createKey(scope) {
      scopes.add(nameOf(scope))
    },
    async seal(scope, purpose, plaintext) {
      ensureKey(scope)
      const prefix = prefixOf(scope, purpose)
      const sealed = new Uint8Array(prefix.length + plaintext.length)
      sealed.set(prefix)
      sealed.set(plaintext, prefix.length)
      return sealed
    },
    async open(scope, purpose, sealed) {
      ensureKey(scope)
      const prefix = prefixOf(scope, purpose)
      const isOurs = equalBytes(sealed.subarray(0, prefix.length), prefix)
      if (!isOurs) throw new SecretBoxError("STATE_TAMPERED", "sealed for another place")
      return sealed.slice(prefix.length)
    },
    rotate: async () => undefined,
    async destroy(scope) {
      scopes.delete(nameOf(scope))
    },
  }
}
