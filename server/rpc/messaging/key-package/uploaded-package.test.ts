import { Refused } from "@signet/kernel/errors"
import { messagingDevice } from "@signet/kernel/messaging/testing/records"
import { LimitExceededSchema } from "@signet/proto/messaging/v1/conflict"
import { expect, test } from "vitest"
import { detailsOf } from "../../../serving/call/detailed.ts"
import { openUploadedPackage } from "./uploaded-package.ts"

test("a key package over the limit is refused with the limit", () => {
  const deps = { issuerKeys: () => expect.fail("not asked"), verify: () => expect.fail("not asked") }
  const upload = { bytes: new Uint8Array(8 * 1024 + 1), isLastResort: false }
  try {
    openUploadedPackage(deps, messagingDevice(1), upload, 0)
    expect.fail("accepted")
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    expect(error.reason).toBe("LIMIT_EXCEEDED")
    expect(detailsOf(error)).toEqual([{ desc: LimitExceededSchema, value: { limit: "key_package_bytes", max: 8192n } }])
  }
})
