import { create } from "@bufbuild/protobuf"
import { createValidator } from "@bufbuild/protovalidate"
import { ProviderClientSchema } from "@signet/proto/auth/v1/provider_clients"
import fc from "fast-check"
import { expect, test } from "vitest"
import { effort, isLong } from "../../../test/support/effort.ts"
import { uriTexts } from "./testing/uris.ts"
import { isUri } from "./uri.ts"

const validator = createValidator()
const isValid = (text: string): boolean =>
  validator.validate(ProviderClientSchema, create(ProviderClientSchema, { redirectUris: [text] })).kind === "valid"

test.each(["https://a.example/b?c#d", "urn:a:b", "a:", "http://[::1]:80/", "app.example:/callback", "mailto:a@b"])(
  "%s is a URI",
  (text) => expect(isUri(text)).toBe(true),
)

test.each([
  "",
  "a",
  "//a",
  "/a",
  "1:a",
  "https://a b",
  "http://[::1",
  "http://a%ff/",
  "http://[1::2::3]/",
  "a:%4",
  "a:\n",
])("%j is no URI", (text) => expect(isUri(text)).toBe(false))

test.runIf(isLong)("isUri equals protovalidate's result", () => {
  fc.assert(
    fc.property(fc.oneof(uriTexts, fc.webUrl(), fc.string()), (text) => {
      // The empty text has a sentence of its own, and texts beyond the field's limit are not compared.
      if (text.length > 2_000) return
      expect(isUri(text)).toBe(isValid(text))
    }),
    { numRuns: effort(200, 100_000, 1_000_000) },
  )
})

test("a long text that is nearly a URI is checked in linear time", () => {
  const long = 200_000
  for (const text of ["a", "%41", "a@", ":", "/a", "@"].map((each) => `a://${each.repeat(long)}\u0000`)) {
    expect(isUri(text)).toBe(false)
  }
})
