import type { KeyRing } from "@signet/kernel/keys/ports"
import { type RevocationStatement, statementClaims, statementType } from "@signet/kernel/revocation/statement"

/** Signs statements. A statement for many readers at the same time is signed once. */
export function createStatementSigner(keys: Pick<KeyRing, "sign">): (statement: RevocationStatement) => string {
  const signed = new Map<string, string>()
  return (statement) => {
    const { log, from, to, head, asOfMs } = statement
    const name = [log, from, to, head, Math.floor(asOfMs / 1_000)].join(" ")
    const known = signed.get(name)
    if (known !== undefined) return known
    const jws = keys.sign(statementType, statementClaims(statement))
    for (const oldest of signed.keys()) {
      if (signed.size < maxKept) break
      signed.delete(oldest)
    }
    signed.set(name, jws)
    return jws
  }
}

const maxKept = 8
