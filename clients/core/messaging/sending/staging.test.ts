import { expect, test } from "vitest"
import { MessagingError } from "../errors.ts"
import { MlsError } from "../mls.ts"
import { isStaleClaim } from "./staging.ts"

test("only an answer that was refused for its key package is a stale claim", () => {
  const bad = new MlsError("MLS_BAD_KEY_PACKAGE", "expired")
  const refused = (cause: unknown) => new MessagingError("ANSWER_REFUSED", "refused", { cause })
  expect(isStaleClaim(refused(bad))).toBe(true)
  expect(isStaleClaim(refused(new MlsError("MLS_BAD_LEAF", "expired")))).toBe(false)
  expect(isStaleClaim(refused({ reason: "MLS_BAD_KEY_PACKAGE" }))).toBe(false)
  expect(isStaleClaim(new MessagingError("QUEUED", "later", { cause: bad }))).toBe(false)
  expect(isStaleClaim(bad)).toBe(false)
})
