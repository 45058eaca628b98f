import { expect, test } from "vitest"
import { parseBearer } from "./bearer.ts"

test.each<[string, string | null | undefined, string | object]>([
  ["no header", null, "NO_CREDENTIAL"],
  ["no header, in other words", undefined, "NO_CREDENTIAL"],
  ["an empty header", "", "MALFORMED_CREDENTIAL"],
  ["a scheme alone", "Bearer", "MALFORMED_CREDENTIAL"],
  ["a scheme and a blank", "Bearer ", "MALFORMED_CREDENTIAL"],
  ["another scheme", "Basic dXNlcjpwYXNz", "MALFORMED_CREDENTIAL"],
  ["a token alone", "aaa.bbb.ccc", "MALFORMED_CREDENTIAL"],
  ["two tokens", "Bearer aaa bbb", "MALFORMED_CREDENTIAL"],
  ["two headers", "Bearer aaa, Bearer bbb", "MALFORMED_CREDENTIAL"],
  ["a line end", "Bearer aaa\n", "MALFORMED_CREDENTIAL"],
  ["a quoted token", 'Bearer "aaa"', "MALFORMED_CREDENTIAL"],
  ["a personal access token", `Bearer sgpat_${"0".repeat(50)}`, "PAT_NOT_BEARER"],
  ["a refresh token", `Bearer sgrt_${"0".repeat(50)}`, "REFRESH_TOKEN_NOT_BEARER"],
  ["a token", "Bearer aaa.bbb.ccc", { token: "aaa.bbb.ccc" }],
  ["a scheme in small letters", "bearer aaa", { token: "aaa" }],
])("%s", (_, header, expected) => {
  expect(parseBearer(header)).toEqual(expected)
})

test("a long header is parsed in linear time", () => {
  // A backtracking pattern would exceed the test's time limit.
  expect(parseBearer(`Bearer ${" ".repeat(1_000_000)}!`)).toBe("MALFORMED_CREDENTIAL")
  expect(parseBearer(`Bearer ${"=".repeat(1_000_000)}!`)).toBe("MALFORMED_CREDENTIAL")
  expect(parseBearer(`Bearer ${"a".repeat(1_000_000)}!`)).toBe("MALFORMED_CREDENTIAL")
})
