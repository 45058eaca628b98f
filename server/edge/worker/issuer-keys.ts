// The issuer's key set at the edge: from memory for one minute, from the key-value store for five, then from the auth
// service. The pinned root signs it, so its source need not be trusted. A cached set is used until it expires.
import { toHex } from "@signet/canonical/bytes"
import { issuerIdOf, keyIdOf } from "@signet/canonical/hash"
import { type IssuerKeys, verifyIssuerKeySet } from "@signet/canonical/issuer-keys"
import { nodeSigner, nodeVerify } from "@signet/canonical/node/ed25519"
import { fetchText } from "@signet/guard/fetch-text"
import type { KeySetCache } from "@signet/guard/key-set"
import { createSharedRun } from "@signet/guard/shared-run"
import { Refused } from "@signet/kernel/errors"
import type { Clock } from "@signet/kernel/ports"
import { KeyPurpose } from "@signet/proto/credential/v1/issuer_key_set"
import type { createReceiptSigner } from "../../keys/authority.ts"
import type { Settings } from "./settings.ts"

/** The keys that sign receipts and claim tickets. */
type ReceiptKeys = Parameters<typeof createReceiptSigner>[0]

export interface EdgeIssuerKeys extends ReceiptKeys {
  /** Refreshes a set that is older than a minute. A caller with a set does not wait for the refresh. Never rejects. */
  look(): Promise<void>
  /** @throws Refused UNAVAILABLE without a set. */
  issuerKeys(): IssuerKeys
  /** The set in the form for clients: a SignedBytesV1. */
  bytes(): Uint8Array | undefined
}

interface Held {
  readonly bytes: Uint8Array
  readonly keys: IssuerKeys
}

const limits = { timeoutMs: 5_000, maxBytes: 131_072 }
const memoryMs = 60_000
const cacheMs = 300_000
/** How long the sources are not asked again after they had no set. */
const cooldownMs = 5_000

export function createIssuerKeys(of: {
  settings: Pick<Settings, "authUrl" | "issuer" | "rootKey" | "receiptKey">
  cache: KeySetCache
  fetch: typeof fetch
  clock: Clock
  /** Continues work after the call was answered. */
  background: (work: Promise<unknown>) => void
  /** Called with the reason for which a set was rejected. */
  report: (fault: unknown) => void
}): EdgeIssuerKeys {
  const { settings, cache, clock, report } = of
  const issuerId = issuerIdOf(settings.issuer)
  const receipts = nodeSigner(settings.receiptKey)
  const receiptKeyId = toHex(keyIdOf(receipts.publicKey))
  const shared = createSharedRun<void>(clock, limits.timeoutMs)
  let held: Held | undefined
  let lookedAtMs = Number.NEGATIVE_INFINITY

  const nowSeconds = () => BigInt(Math.floor(clock.nowMs() / 1_000))

  function take(bytes: Uint8Array): boolean {
    try {
      const expected = { roots: [settings.rootKey], issuerId, atSeconds: nowSeconds(), verify: nodeVerify }
      held = { bytes, keys: verifyIssuerKeySet(bytes, { ...expected, seen: held?.keys }) }
      return true
    } catch (fault) {
      report(fault)
      return false
    }
  }

  async function fetchSet(): Promise<string | undefined> {
    try {
      const text = await fetchText(of.fetch, `${settings.authUrl}/security/issuer-keys`, limits)
      return textIn(text)
    } catch (fault) {
      report(fault)
      return undefined
    }
  }

  const isDue = () => clock.nowMs() - lookedAtMs >= (hasReceiptKey() ? memoryMs : cooldownMs)

  async function lookNow(): Promise<void> {
    const nowMs = clock.nowMs()
    if (!isDue()) return
    lookedAtMs = nowMs
    // The held set may have expired; then nothing may be signed under it.
    const before = held?.bytes
    held = undefined
    if (before !== undefined) take(before)

    const entry = await cache.get().catch(() => undefined)
    const isYoung = entry !== undefined && entry.fetchedAtMs <= nowMs && nowMs - entry.fetchedAtMs < cacheMs
    if (isYoung && take(bytesOf(entry.text)) && hasReceiptKey()) return
    const text = await fetchSet()
    if (text !== undefined && take(bytesOf(text))) {
      await cache.put({ text, fetchedAtMs: nowMs }).catch(() => undefined)
    } else if (entry !== undefined && held === undefined) take(bytesOf(entry.text))
  }

  function hasReceiptKey(): boolean {
    const entry = held?.keys.keys.get(receiptKeyId)
    const now = nowSeconds()
    return entry?.purpose === KeyPurpose.RECEIPT && entry.notBefore <= now && now < entry.notAfter
  }

  function issuerKeys(): IssuerKeys {
    if (held === undefined) throw new Refused("UNAVAILABLE", { cause: new Error("no issuer key set is configured") })
    return held.keys
  }

  return {
    async look() {
      if (hasReceiptKey() && !isDue()) return
      const looked = shared("", lookNow).catch(report)
      if (hasReceiptKey()) of.background(looked)
      else await looked
    },
    issuerKeys,
    bytes: () => held?.bytes,
    keySet: () => held && { rootKey: settings.rootKey, issuerKeySet: held.bytes },
    signer(purpose) {
      if (purpose !== "RECEIPT")
        throw new Refused("UNAVAILABLE", { cause: new Error(`this backend has no ${purpose} key`) })
      if (!hasReceiptKey()) {
        throw new Refused("UNAVAILABLE", { cause: new Error("the key set names no RECEIPT key of this backend") })
      }
      return receipts
    },
  }
}

const bytesOf = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, "base64"))

/** The base64 text of the set in the public answer. */
function textIn(json: string): string | undefined {
  const answer: unknown = JSON.parse(json)
  if (typeof answer !== "object" || answer === null || !("issuerKeySet" in answer)) return undefined
  return typeof answer.issuerKeySet === "string" ? answer.issuerKeySet : undefined
}
