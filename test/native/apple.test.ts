// The Swift package, as far as Linux can test it: generated methods, and the module that Swift imports.
import { execFileSync, spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { generateSwift } from "../../clients/apple/generate.ts"
import { fastTmpdir } from "../support/fast-tmpdir.ts"

const root = join(import.meta.dirname, "../..")

test("Identity.swift and Messenger.swift are what the contract generates", () => {
  for (const [path, text] of generateSwift()) {
    expect([path, readFileSync(path, "utf8") === text]).toEqual([path, true])
  }
})

test("the module has every function of signet.h", (context) => {
  if (spawnSync("clang", ["--version"]).error !== undefined)
    context.skip("the module is not compiled: clang is missing")
  const folder = mkdtempSync(join(fastTmpdir(), "signet-module-"))
  const module = join(root, "clients/apple/Sources/CSignet/module.modulemap")
  const names = ["abi_version", "buf_free", "call", "close", "complete", "next", "open", "push"]
  const uses = names.map((name) => `(const void *)signet_${name}`).join(", ")
  const text = `#pragma clang module import CSignet\nconst void *const all[] = {${uses}};\nint ok = SIGNET_E_STOPPED;\n`
  writeFileSync(join(folder, "uses.c"), text)
  const flags = ["-fsyntax-only", "-fmodules", `-fmodules-cache-path=${folder}`, `-fmodule-map-file=${module}`]
  const header = ["-I", join(root, "clients/native/c")]
  execFileSync("clang", [...flags, ...header, join(folder, "uses.c")], { stdio: "pipe" })
  rmSync(folder, { recursive: true })
})
