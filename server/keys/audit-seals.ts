// What the audit is sealed and stamped with: keys that come of the service's sealing key, and one key a person.
import { createHmac, createSecretKey, hash, hkdfSync, randomBytes, timingSafeEqual } from "node:crypto"
import type { AuditSeals } from "@signet/kernel/audit/seals"
import { openUnder, sealUnder } from "./secrets.ts"

const keyLabel = (owner: string): string => `audit-data-key|${owner}`

/** @param sealingKey 32 bytes: the service's. It cannot be changed in place, and neither can what comes of it. */
export function createAuditSeals(sealingKey: Uint8Array): AuditSeals {
  if (sealingKey.length !== 32) throw new RangeError(`the sealing key has ${sealingKey.length} bytes instead of 32`)
  const derived = (info: string) => new Uint8Array(hkdfSync("sha256", sealingKey, "", info, 32))
  const stampKey = createSecretKey(derived("signet audit stamp v1"))
  const wrappingKey = derived("signet audit data keys v1")
  return {
    digest: (text) => new Uint8Array(hash("sha256", text, "buffer")),
    stamp: (text) => new Uint8Array(createHmac("sha256", stampKey).update(text, "utf8").digest()),
    equal: (a, b) => a.length === b.length && timingSafeEqual(a, b),
    newDataKey(owner) {
      const key = new Uint8Array(randomBytes(32))
      return { key, sealed: sealUnder(wrappingKey, keyLabel(owner), key) }
    },
    openDataKey: (owner, sealed) => openUnder(wrappingKey, keyLabel(owner), sealed),
    seal: (key, label, text) => sealUnder(key, label, Buffer.from(text, "utf8")),
    open(key, label, sealed) {
      const opened = openUnder(key, label, sealed)
      return opened && Buffer.from(opened).toString("utf8")
    },
  }
}
