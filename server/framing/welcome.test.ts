import { encodeMlsMessage } from "ts-mls/message.js"
import type { Welcome } from "ts-mls/welcome.js"
import { beforeAll, expect, test } from "vitest"
import { contains } from "../../clients/core/messaging/testing/cast.ts"
import { bent, refusalWithPlace, theirs } from "./testing/bent.ts"
import { recordSmall, suite } from "./testing/recording.ts"
import { parseWelcome, splitWelcome } from "./welcome.ts"

let good: Uint8Array
beforeAll(async () => {
  good = (await recordSmall()).commits[0]?.staged.welcome ?? new Uint8Array()
})

function bentWelcome(bend: (welcome: Welcome) => object): Uint8Array {
  const { welcome } = theirs(good, "mls_welcome")
  return encodeMlsMessage({ version: "mls10", wireformat: "mls_welcome", welcome: bent(welcome, bend) })
}

const sealed = { kemOutput: new Uint8Array(32), ciphertext: new Uint8Array(100) }
const secret = (change = {}) => ({ newMember: suite.random(32), encryptedGroupSecrets: { ...sealed, ...change } })

test.each<[string, (welcome: Welcome) => object, string]>([
  ["as it is", () => ({}), "read"],
  [
    "of another suite",
    () => ({ cipherSuite: "MLS_256_DHKEMX448_AES256GCM_SHA512_Ed448" }),
    "MLS_UNSUPPORTED cipher_suite",
  ],
  ["for nobody", () => ({ secrets: [] }), "MLS_MALFORMED secrets: for nobody"],
  [
    "with two secrets for one",
    ({ secrets }) => ({ secrets: [...secrets, ...secrets] }),
    "MLS_MALFORMED new_member: twice",
  ],
  ["for 1,024", () => ({ secrets: Array.from({ length: 1024 }, () => secret()) }), "read"],
  ["for 1,025", () => ({ secrets: Array.from({ length: 1025 }, () => secret()) }), "MLS_TOO_LARGE secrets"],
  [
    "with a short reference",
    () => ({ secrets: [{ ...secret(), newMember: new Uint8Array(31) }] }),
    "MLS_MALFORMED new_member",
  ],
  [
    "with a long KEM output",
    () => ({ secrets: [secret({ kemOutput: new Uint8Array(33) })] }),
    "MLS_MALFORMED kem_output",
  ],
  [
    "with an empty secret",
    () => ({ secrets: [secret({ ciphertext: new Uint8Array(16) })] }),
    "MLS_MALFORMED encrypted_group_secrets",
  ],
  ["without a GroupInfo", () => ({ encryptedGroupInfo: new Uint8Array(16) }), "MLS_MALFORMED encrypted_group_info"],
])("a Welcome %s", (_, bend, expected) => {
  expect(refusalWithPlace(() => parseWelcome(bentWelcome(bend)))).toBe(expected)
})

test("a part contains only one joining member's secrets", () => {
  const parts = [...splitWelcome(good).values()]
  const { secrets } = parseWelcome(good)
  expect(parts).toHaveLength(3)
  for (const [i, part] of parts.entries()) {
    expect(secrets.map(({ bytes }) => contains(part, bytes))).toEqual(secrets.map((_, at) => at === i))
  }
})

test("a Welcome whose parts would be too large is refused before it is split", () => {
  const secrets = Array.from({ length: 1000 }, () => secret())
  const large = bentWelcome(() => ({ secrets, encryptedGroupInfo: new Uint8Array(800_000) }))
  expect(refusalWithPlace(() => parseWelcome(large))).toBe("read")
  expect(refusalWithPlace(() => splitWelcome(large))).toBe("MLS_TOO_LARGE mls_welcome for one")
})
