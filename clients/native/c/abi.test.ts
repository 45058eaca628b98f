import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { brokenLines, readAbi } from "./abi.ts"

const released = readFileSync(join(import.meta.dirname, "../../../contract/signet-abi.txt"), "utf8")
  .trimEnd()
  .split("\n")
const header = readFileSync(join(import.meta.dirname, "signet.h"), "utf8")

test("programs of the last release run with this library", () => {
  expect(brokenLines(released, readAbi())).toEqual([])
  expect(released.filter((line) => line.includes("("))).toHaveLength(9)
})

test.each([
  ["a status has another value", "SIGNET_E_BUSY -4", "SIGNET_E_BUSY -8", ["SIGNET_E_BUSY = -4"]],
  ["the version goes back", "SIGNET_ABI_VERSION 1u", "SIGNET_ABI_VERSION 0u", ["SIGNET_ABI_VERSION = 1u"]],
  ["a parameter has another type", "int32_t timeout_ms", "int64_t timeout_ms", [/int32_t timeout_ms/]],
  ["a function is missing", "SIGNET_API int32_t signet_close(signet_client *client);", "", [/signet_close/]],
  [
    "fields change places",
    "uint8_t *data; /* NULL if empty */\n  size_t length;",
    "size_t length; uint8_t *data;",
    [/buf/],
  ],
  ["a field of the host has another type", "uint32_t size; /*", "uint64_t size; /*", [/struct signet_host/]],
  [
    "a structure grows that programs make",
    "  size_t length;\n} signet_value;",
    "  size_t length; int x;\n} signet_value;",
    [/value/],
  ],
])("a change that breaks programs is found: %s", (_, before, after, broken) => {
  expect(header).toContain(before)
  const found = brokenLines(released, readAbi(header.replace(before, after)))
  expect(found).toEqual(broken.map((one) => (typeof one === "string" ? one : expect.stringMatching(one))))
})

test.each([
  ["a constant", "#define SIGNET_OK 0", "#define SIGNET_OK 0\n#define SIGNET_NEW 9"],
  ["a function", "SIGNET_API void", "SIGNET_API int32_t signet_new(void);\nSIGNET_API void"],
  [
    "a function of the host, at its end",
    "signet_value *answer);\n} signet_host",
    "signet_value *answer);\n  int (*more)(void);\n} signet_host",
  ],
  ["a version", "SIGNET_ABI_VERSION 1u", "SIGNET_ABI_VERSION 2u"],
])("an addition breaks no program: %s", (_, before, after) => {
  expect(header).toContain(before)
  expect(brokenLines(released, readAbi(header.replace(before, after)))).toEqual([])
})
