import { expect, test } from "vitest"
import { service, user } from "../authz/testing.ts"
import { buildDenial } from "./denial.ts"

const users = { is: "kinds", of: ["USER"] } as const
const write = { is: "scope", scope: "notes.write" } as const

test("a denial states the requirement, the caller's token, and what the caller lacked", () => {
  expect(buildDenial({ is: "allOf", of: [users, write] }, user, { scope: "notes.write" })).toEqual({
    ...{ requirement: "kinds(USER) and scope(notes.write)", missing: "notes.write" },
    ...{ callerKind: "USER", audience: "svc-notes", authTimeMs: user.authTimeMs },
  })
  expect(buildDenial({ ...users, maxAuthAgeSeconds: 300 }, service, { max_age: "300" })).toEqual({
    ...{ requirement: "kinds(USER), signed in within 300 s", missing: "" },
    ...{ callerKind: "SERVICE", audience: "svc-notes", authTimeMs: null },
  })
  expect(buildDenial(users, user, { role: "editor" }).missing).toBe("editor")
  expect(buildDenial(users, user, { permission: "notes.note.edit" }).missing).toBe("notes.note.edit")
  expect(buildDenial(users, user).missing).toBe("")
})

test("no text of a denial is longer than the contract allows", () => {
  const long = "x".repeat(513)
  const denial = buildDenial({ is: "scope", scope: long }, { ...user, audience: long }, { scope: long })
  for (const text of [denial.requirement, denial.audience, denial.missing]) expect(text).toHaveLength(512)
})
