import { CanonicalError } from "@signet/canonical/errors"
import { expect, test } from "vitest"
import { MessagingError } from "./errors.ts"
import { MlsError } from "./mls.ts"
import { rethrowAs } from "./rethrow.ts"

const own = new MessagingError("DEVICE_ENDED", "ended")
const bug = new TypeError("bug")

test.each<[unknown, object]>([
  [new CanonicalError("CRED_EXPIRED"), { reason: "ANSWER_REFUSED" }],
  [new MlsError("MLS_BAD_TREE", "bad"), { reason: "ANSWER_REFUSED" }],
  [new MlsError("STATE_TAMPERED", "bad"), { reason: "STATE_TAMPERED" }],
  [new MlsError("STATE_NEWER_VERSION", "new"), { reason: "STATE_NEWER_VERSION" }],
  [new MlsError("ENGINE_UNSAFE", "unsafe"), { reason: "ENGINE_UNSAFE" }],
  [own, own],
  [bug, bug],
])("%s is thrown with a reason for the app", async (cause, expected) => {
  const work = rethrowAs("ANSWER_REFUSED", () => Promise.reject(cause))
  await expect(work).rejects.toMatchObject(expected)
  if (cause === own || cause === bug) await expect(work).rejects.toBe(cause)
})
