import { expect, test } from "vitest"
import { formatRecoveryKey, parseRecoveryKey } from "./recovery-key.ts"

const key = Uint8Array.from({ length: 32 }, (_, i) => i * 7)
const text = formatRecoveryKey(key)

test("a recovery key is 14 groups of four characters, and is read in any case and grouping", () => {
  expect(text).toMatch(/^([0-9A-HJKMNP-TV-Z]{4}-){13}[0-9A-HJKMNP-TV-Z]{4}$/)
  const typed = [text, text.toLowerCase(), text.replaceAll("-", ""), text.replaceAll("-", " \n")]
  for (const one of typed) expect(parseRecoveryKey(one)).toEqual(key)
  const lookalikes = text.replaceAll("1", "l").replaceAll("0", "o")
  expect(lookalikes).not.toBe(text)
  expect(parseRecoveryKey(lookalikes)).toEqual(key)
})

test("keys at the ends of the range are read as they were written", () => {
  for (const byte of [0, 255]) {
    const one = new Uint8Array(32).fill(byte)
    expect(parseRecoveryKey(formatRecoveryKey(one))).toEqual(one)
  }
})

test("each mistyped character and each transposition is detected", () => {
  for (let at = 0; at < text.length; at++) {
    if (text.charAt(at) === "-") continue
    const other = text.charAt(at) === "7" ? "8" : "7"
    const mistyped = text.slice(0, at) + other + text.slice(at + 1)
    expect(() => parseRecoveryKey(mistyped)).toThrow(expect.objectContaining({ reason: "BACKUP_KEY_INVALID" }))
  }
  const swapped = text.replace(/([^-])(?!\1)([^-])/, "$2$1")
  expect(swapped).not.toBe(text)
  expect(() => parseRecoveryKey(swapped)).toThrow(/recoveryKey has a wrong checksum/)
})

test.each([
  ["a missing group", text.slice(5), /recoveryKey has 52 characters instead of 56/],
  ["a character of no recovery key", `U${text.slice(1)}`, /recoveryKey has a character/],
  ["nothing", "", /recoveryKey has 0 characters/],
])("%s is named", (_, typed, message) => {
  expect(() => parseRecoveryKey(typed)).toThrow(message)
})
