import { create } from "@bufbuild/protobuf"
import { IssuerKeyV1Schema } from "@signet/proto/credential/v1/issuer_key_set"
import { expect, test } from "vitest"
import { ensureKeyTime } from "./issued.ts"
import { codeOf } from "./testing/code-of.ts"

const key = create(IssuerKeyV1Schema, { notBefore: 100n, notAfter: 200n })

test.each([
  [99n, "CRED_ISSUER_KEY_NOT_VALID"],
  [100n, "ok"],
  [199n, "ok"],
  [200n, "CRED_ISSUER_KEY_NOT_VALID"],
])("a key for 100 up to 200 signs at %i: %s", (atSeconds, code) => {
  expect(codeOf(() => ensureKeyTime("CRED", key, atSeconds))).toBe(code)
})
