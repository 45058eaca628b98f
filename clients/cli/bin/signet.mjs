#!/usr/bin/env node
// Plain JavaScript, so that an old Node can print the error.
import { existsSync, readFileSync } from "node:fs"
import module from "node:module"
import { homedir } from "node:os"
import { join } from "node:path"

const [major, minor] = process.versions.node.split(".").map(Number)
if (major < 22 || (major === 22 && minor < 18)) {
  console.error(`signet needs Node 22.18 or newer and this is Node ${process.versions.node}.`)
  process.exit(2)
}
// Reuses compiled code, in a folder of the user: a writer of this folder controls the executed code.
const caches = process.env.LOCALAPPDATA || process.env.XDG_CACHE_HOME || join(process.env.HOME || homedir(), ".cache")
if (!process.env.NODE_COMPILE_CACHE) module.enableCompileCache?.(join(caches, "signet"))
const built = new URL("../dist/main.js", import.meta.url)
const { run } = await import(existsSync(built) ? built.href : new URL("../main.ts", import.meta.url).href)
const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"))
process.exitCode = await run(version)
