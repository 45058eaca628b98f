// Seals and stamps of the audit: keys derived from the service's sealing key, and a data key for each user.
import { hash, randomBytes, timingSafeEqual } from "node:crypto"
import type { AuditCrypto } from "@signet/kernel/audit/crypto"
import { dataKeyLabel } from "@signet/kernel/keys/sealed-columns"
import { openUnder, sealUnder } from "./seal-under.ts"
import { createSealingKeys, type SealingKeys } from "./sealing-keys.ts"

/** @param sealingKey The service's sealing key, 32 bytes; or the keys of a rotation. */
export function createAuditCrypto(sealingKey: Uint8Array | SealingKeys): AuditCrypto {
  const sealing = sealingKey instanceof Uint8Array ? createSealingKeys([sealingKey]) : sealingKey
  return {
    digest: (text) => new Uint8Array(hash("sha256", text, "buffer")),
    stamp: sealing.stamp,
    stampedBy: sealing.stampedBy,
    stampKeys: sealing.stampKeys,
    equal: (a, b) => a.length === b.length && timingSafeEqual(a, b),
    newDataKey(owner) {
      const key = new Uint8Array(randomBytes(32))
      return { key, sealed: sealing.seal("audit", dataKeyLabel(owner), key) }
    },
    openDataKey: (owner, sealed) => sealing.open("audit", dataKeyLabel(owner), sealed),
    seal: (key, label, text) => sealUnder(key, label, Buffer.from(text, "utf8")),
    open(key, label, sealed) {
      const opened = openUnder(key, label, sealed)
      return opened && Buffer.from(opened).toString("utf8")
    },
  }
}
