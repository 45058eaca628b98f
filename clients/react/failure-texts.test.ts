// Every reason that a screen can show has a text. The reasons come from the contract, and the services from the sources.
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { Code, ConnectError } from "@connectrpc/connect"
import { ReasonSchema } from "@signet/proto/authz/v1/reason"
import { expect, test } from "vitest"
import { englishFailures } from "./failure-texts.ts"
import { explainFailure } from "./failures.ts"

const root = join(import.meta.dirname, "../..")
const read = (path: string): string => readFileSync(join(root, path), "utf8")
const reasons = ReasonSchema.values.filter(({ number }) => number > 0)

/** Reasons that no page of a person can meet, by why. `other` explains them all the same. */
const withoutText: Readonly<Record<string, readonly string[]>> = {
  "the token of a page has no actor": [
    "ACTOR_REQUIRED",
    "ACTOR_NOT_ALLOWED",
    "DELEGATION_EXPIRED",
    "DELEGATION_CHAIN_TOO_DEEP",
    "JOB_MISMATCH",
  ],
  "the token of a page of administration is bound to no key": ["PROOF_OF_POSSESSION_REQUIRED"],
  "a page exchanges no personal access token": ["PAT_INVALID"],
}

/** The contract's files whose services the console and the components call. */
function calledFiles(): readonly string[] {
  const sources = ["clients/console", "clients/react"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => /\.tsx?$/.test(name) && !/(\.test\.ts$|^chat\/)/.test(name))
      .map((name) => read(join(folder, name))),
  )
  const named = sources.flatMap((text) => [...text.matchAll(/"@signet\/proto\/auth\/v1\/(\w+_service)"/g)])
  // The sign-in itself is a call of the client's.
  return [...new Set(["auth_service", ...named.map(([, file = ""]) => file)])].toSorted()
}

/** The reasons in the `Errors:` lists of a file's methods. */
function reasonsOf(file: string): readonly string[] {
  const lists = [...read(`proto/signet/auth/v1/${file}.proto`).matchAll(/ {2}\/\/ Errors:\n((?: {2}\/\/ {3}.+\n)+)/g)]
  const words = lists.flatMap(([, list = ""]) => list.match(/\b[A-Z][A-Z_]+\b/g) ?? [])
  return words.filter((word) => reasons.some(({ name }) => name === word))
}

test("every reason that a page can show has a text, but for a closed list", () => {
  const files = calledFiles()
  expect(files).toContain("app_auth_service")
  // The nine steps (below 140) and the reasons of any request (300 to 314) apply to every method.
  const ofAnyCall = reasons.filter(({ number }) => number < 140 || (number >= 300 && number < 400))
  const shown = new Set([...ofAnyCall.map(({ name }) => name), ...files.flatMap(reasonsOf)])
  expect(shown.size).toBeGreaterThan(80)
  const missing = [...shown].filter((name) => !(name in englishFailures))
  expect(missing.toSorted()).toEqual(Object.values(withoutText).flat().toSorted())
})

test.each<[string, unknown, string]>([
  ["a fetch without an answer", new TypeError("Failed to fetch"), "UNREACHABLE"],
  ["a call without an answer", ConnectError.from(new TypeError("Failed to fetch")), "UNREACHABLE"],
  ["a proxy without a service behind it", new ConnectError("", Code.Unavailable), "UNREACHABLE"],
  ["an aborted call", ConnectError.from(new DOMException("", "AbortError")), "CANCELED"],
  ["an aborted fetch", new DOMException("", "AbortError"), "CANCELED"],
  ["a call that took too long", new ConnectError("", Code.DeadlineExceeded), "DEADLINE_EXCEEDED"],
  ["a fault of the page", new Error("undefined is not a function"), "UNKNOWN"],
])("%s is explained, although no service gave a reason", (_, error, reason) => {
  const { what, ...explained } = explainFailure(error, englishFailures)
  expect(explained.reason).toBe(reason)
  expect(what).toBe(reason === "UNKNOWN" ? "The call failed." : Reflect.get(englishFailures, reason).what)
})
