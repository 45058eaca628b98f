import { CanonicalError } from "@signet/canonical/errors"
import { ReportForkRequest_Fault as Fault } from "@signet/proto/messaging/v1/conversation_service"
import { expect, test } from "vitest"
import { MessagingError } from "../errors.ts"
import { MlsError } from "../mls.ts"
import { Forked, faultOf, isVerdict, mayBeOwnClock, mayBeStaleKeys, type Verdict, verdictReason } from "./verdict.ts"

const signed = (code: ConstructorParameters<typeof CanonicalError>[0]) => new CanonicalError(code)

test.each<[Verdict, string, Fault]>([
  [new Forked("STATE_TAG_DIFFERS"), "STATE_TAG_DIFFERS", Fault.STATE_TAG_MISMATCH],
  [new Forked("RECEIPT_SEEN_DIFFERS"), "RECEIPT_SEEN_DIFFERS", Fault.RECEIPT_INVALID],
  [new Forked("RECEIPT_TOLD_DIFFERS"), "RECEIPT_TOLD_DIFFERS", Fault.RECEIPT_INVALID],
  [new Forked("THIRD_USER"), "THIRD_USER", Fault.MEMBERSHIP_INVALID],
  [signed("RECEIPT_FORK"), "RECEIPT_FORK", Fault.RECEIPT_INVALID],
  [signed("PROOF_EXPIRED"), "PROOF_EXPIRED", Fault.MEMBERSHIP_INVALID],
  [new MlsError("MLS_BAD_PATH", "bad"), "MLS_BAD_PATH", Fault.COMMIT_UNPROCESSABLE],
])("the verdict %s has the reason %s", (verdict, reason, fault) => {
  expect([isVerdict(verdict), verdictReason(verdict), faultOf(verdict)]).toEqual([true, reason, fault])
})

test("a fault of this device is no verdict", () => {
  expect(isVerdict(new Error("RECEIPT_FORK"))).toBe(false)
})

test("newer issuer keys may resolve an unknown key, and a corrected clock a time in the future", () => {
  const stale = (verdict: Verdict) => [mayBeStaleKeys(verdict), mayBeOwnClock(verdict)]
  expect(stale(signed("PROOF_UNKNOWN_ISSUER_KEY"))).toEqual([true, false])
  expect(stale(signed("CRED_ISSUER_KEY_NOT_VALID"))).toEqual([true, false])
  expect(stale(signed("PROOF_EXPIRED"))).toEqual([false, false])
  expect(stale(signed("RECEIPT_FROM_FUTURE"))).toEqual([false, true])
  expect(stale(new Forked("THIRD_USER"))).toEqual([false, false])
})

test("newer issuer keys may replace a set that has expired, also where they verify an answer for an own commit", () => {
  const refused = (cause: unknown) => mayBeStaleKeys(new MessagingError("ANSWER_REFUSED", "refused", { cause }))
  const expired = new MessagingError("ISSUER_KEYS_REFUSED", "expired")
  expect([mayBeStaleKeys(expired), refused(expired), refused(signed("PROOF_UNKNOWN_ISSUER_KEY"))]).toEqual([
    ...[true, true, true],
  ])
  const others = [new Error("ISSUER_KEYS_REFUSED"), new MessagingError("QUEUED", "later", { cause: expired })]
  expect([...others.map(mayBeStaleKeys), refused(undefined), refused(signed("PROOF_EXPIRED"))]).toEqual([
    ...[false, false, false, false],
  ])
})
