// Builds key-sets.json: which key set documents are accepted, and when the issuer is asked for them.
import { accessKey, nextKey, vectorKey } from "./signer.ts"
import { now } from "./situations.ts"

interface KeySetDocument {
  readonly name: string
  readonly text: string
  /** Spaces are appended up to this size in bytes. */
  readonly padTo?: number
  /** The kids that can be found; null if the document is rejected. */
  readonly expected: readonly string[] | null
}

/** The issuer's behavior when it is asked. */
export type Answer =
  | { readonly status: number; readonly text: string; readonly location?: string }
  /** No answer. */
  | "unreachable"

interface KeySetStep {
  readonly now: number
  /** The issuer's answer from now on. */
  readonly answer?: Answer
  readonly find: string
  readonly expected: "found" | "KEY_UNKNOWN" | "UNAVAILABLE"
  /** Number of requests to the issuer since the sequence began. */
  readonly fetches: number
}

interface KeySetSequence {
  readonly name: string
  readonly steps: readonly KeySetStep[]
}

const one = accessKey.jwk
const two = nextKey.jwk
const set = (...keys: readonly unknown[]) => JSON.stringify({ keys })
const rsa = { kty: "RSA", n: "0vx7", e: "AQAB", kid: "rsa-1", alg: "RS256", use: "sig" }
const without = (name: string) => Object.fromEntries(Object.entries(one).filter(([member]) => member !== name))
const many = (count: number) => Array.from({ length: count }, (_, i) => ({ ...one, kid: `key-${i}` }))
const kids = (count: number) => many(count).map(({ kid }) => kid)

type Row = readonly [name: string, text: string, expected: readonly string[] | null, padTo?: number]

const rows: readonly Row[] = [
  ["one key", set(one), ["key-1"]],
  ["two keys", set(one, two), ["key-1", "key-2"]],
  ["no keys", set(), []],
  ["a key that says no alg", set(without("alg")), ["key-1"]],
  ["members that nobody knows", JSON.stringify({ keys: [{ ...one, note: 1 }], note: 1 }), ["key-1"]],
  ["a private member, which nobody reads", set({ ...one, d: vectorKey(1, "x").jwk.x }), ["key-1"]],
  ["a key of RSA beside one of ours", set(rsa, one), ["key-1"]],
  [
    "a secret beside one of ours",
    set({ kty: "oct", k: "c2VjcmV0", kid: "hmac", alg: "HS256", use: "sig" }, one),
    ["key-1"],
  ],
  ["a key of Ed25519", set({ kty: "OKP", crv: "Ed25519", x: one.x, kid: "ed", use: "sig" }, one), ["key-1"]],
  ["a key of P-384", set({ ...two, crv: "P-384" }, one), ["key-1"]],
  ["a key of secp256k1", set({ ...two, crv: "secp256k1" }, one), ["key-1"]],
  ["a key for encryption", set({ ...two, use: "enc" }, one), ["key-1"]],
  ["a key without a use", set(without("use"), two), ["key-2"]],
  ["a key for another algorithm", set({ ...two, alg: "ES512" }, one), ["key-1"]],
  ["kty in lower case", set({ ...two, kty: "ec" }, one), ["key-1"]],
  ["names in other capitals", set({ ...without("kty"), KTY: "EC" }, two), ["key-2"]],
  ["a key without a kid", set(without("kid"), two), ["key-2"]],
  ["a kid that is a path", set({ ...two, kid: "../key" }, one), ["key-1"]],
  ["a kid of 128 characters", set({ ...one, kid: "k".repeat(128) }), ["k".repeat(128)]],
  ["a kid of 129 characters", set({ ...one, kid: "k".repeat(129) }, two), ["key-2"]],
  ["a kid with a line end", set({ ...one, kid: "key-1\n" }, two), ["key-2"]],
  ["a kid that is a number", set({ ...one, kid: 1 }, two), ["key-2"]],
  ["an x that is short", set({ ...two, x: two.x.slice(1) }, one), ["key-1"]],
  ["a y with padding", set({ ...two, y: `${two.y}=` }, one), ["key-1"]],
  ["an x that is not base64url", set({ ...two, x: `+${two.x.slice(1)}` }, one), ["key-1"]],
  ["a key that is text", set("key-1", two), ["key-2"]],
  ["a key of null", set(null, two), ["key-2"]],
  ["one kid in a key of RSA and in one of ours", set({ ...rsa, kid: "key-1" }, one), ["key-1"]],
  ["one kid twice", set(one, { ...two, kid: "key-1" }), null],
  ["one key twice", set(one, one), null],
  ["no point of the curve", set({ ...one, x: one.y }, two), null],
  ["zeros for a point", set({ ...one, x: "A".repeat(43), y: "A".repeat(43) }, two), null],
  ["16 keys", set(...many(16)), kids(16)],
  ["17 keys", set(...many(17)), null],
  [
    "17 keys, 16 of them of RSA",
    set(one, ...Array.from({ length: 16 }, (_, i) => ({ ...rsa, kid: `rsa-${i}` }))),
    null,
  ],
  ["65,536 bytes", set(one), ["key-1"], 65_536],
  ["65,537 bytes", set(one), null, 65_537],
  ["nothing", "", null],
  ["no JSON", "<html>", null],
  ["JSON that is cut off", set(one).slice(0, -1), null],
  ["something after the set", `${set(one)}{}`, null],
  ["a list", JSON.stringify([one]), null],
  ["null", "null", null],
  ["keys in an object", JSON.stringify({ keys: { "key-1": one } }), null],
  ["keys in other capitals", JSON.stringify({ Keys: [one] }), null],
]

const documents = rows.map(
  ([name, text, expected, padTo]): KeySetDocument => ({
    name,
    text,
    ...(padTo === undefined ? {} : { padTo }),
    expected,
  }),
)

const good: Answer = { status: 200, text: set(one) }
const both: Answer = { status: 200, text: set(one, two) }
const error: Answer = { status: 500, text: set(one) }
type Known = KeySetStep["expected"]
const step = (after: number, find: string, expected: Known, fetches: number, answer?: Answer): KeySetStep => ({
  now: now + after,
  ...(answer === undefined ? {} : { answer }),
  find,
  expected,
  fetches,
})
const day = 86_400

const sequences: readonly KeySetSequence[] = [
  {
    name: "keys are kept for five minutes",
    steps: [
      step(0, "key-1", "found", 1, good),
      step(0, "key-1", "found", 1),
      step(300, "key-1", "found", 1),
      step(301, "key-1", "found", 2),
      step(601, "key-1", "found", 2),
    ],
  },
  {
    name: "a key that was published since is found by its first token, 30 s after the last fetch",
    steps: [
      step(0, "key-1", "found", 1, good),
      step(0, "key-2", "KEY_UNKNOWN", 1, both),
      step(29, "key-2", "KEY_UNKNOWN", 1),
      step(30, "key-2", "found", 2),
      step(31, "key-1", "found", 2),
    ],
  },
  {
    name: "unknown kids lead to one fetch in 30 s",
    steps: [
      step(0, "nobody-1", "KEY_UNKNOWN", 1, good),
      step(29, "nobody-2", "KEY_UNKNOWN", 1),
      step(30, "nobody-3", "KEY_UNKNOWN", 2),
      step(30, "nobody-4", "KEY_UNKNOWN", 2),
      step(59, "nobody-5", "KEY_UNKNOWN", 2),
      step(60, "nobody-6", "KEY_UNKNOWN", 3),
    ],
  },
  {
    name: "a kid that a fetch did not bring leads to no other for a minute",
    steps: [
      step(0, "key-1", "found", 1, good),
      step(30, "nobody", "KEY_UNKNOWN", 2),
      step(61, "nobody", "KEY_UNKNOWN", 2),
      step(89, "nobody", "KEY_UNKNOWN", 2),
      step(90, "nobody", "KEY_UNKNOWN", 3),
    ],
  },
  {
    name: "while the issuer cannot be reached, keys serve for a day and no longer",
    steps: [
      step(0, "key-1", "found", 1, good),
      step(301, "key-1", "found", 2, "unreachable"),
      step(330, "key-1", "found", 2),
      step(331, "key-1", "found", 3),
      step(day, "key-1", "found", 4),
      step(day + 1, "key-1", "UNAVAILABLE", 4),
      step(day + 40, "key-1", "UNAVAILABLE", 5),
      step(day + 80, "key-1", "found", 6, good),
    ],
  },
  {
    name: "without any keys nobody is known, and the issuer is asked again after 5 s",
    steps: [
      step(0, "key-1", "UNAVAILABLE", 1, "unreachable"),
      step(4, "key-1", "UNAVAILABLE", 1),
      step(5, "key-1", "UNAVAILABLE", 2),
      step(10, "key-1", "found", 3, good),
    ],
  },
  {
    name: "a key that is no longer published is not found when the five minutes are over",
    steps: [
      step(0, "key-2", "found", 1, both),
      step(300, "key-2", "found", 1, good),
      step(301, "key-2", "KEY_UNKNOWN", 2),
    ],
  },
  {
    name: "an error, a redirect and a malformed document leave the keys as they were",
    steps: [
      step(0, "key-1", "found", 1, good),
      step(301, "key-1", "found", 2, error),
      step(331, "key-1", "found", 3, { status: 302, text: "", location: "/elsewhere" }),
      step(361, "key-1", "found", 4, { status: 200, text: "{" }),
      step(391, "key-1", "found", 5, { status: 204, text: "" }),
      step(421, "key-2", "found", 6, both),
    ],
  },
  {
    name: "a redirect is not followed",
    steps: [step(0, "key-1", "UNAVAILABLE", 1, { status: 302, text: "", location: "/elsewhere" })],
  },
]

export const keySetVectors = () => ({ now, documents, sequences })
