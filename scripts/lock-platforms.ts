// Completes package-lock.json. With a registry that lacks some platforms' packages, npm writes a lock file that `npm
// ci` refuses. This adds the missing entries: optional, for their platform only, and without a hash.
// Run after `npm install` has changed the lock: npm run lock:platforms
import { readFileSync, writeFileSync } from "node:fs"

interface Entry {
  version?: string
  optionalDependencies?: Record<string, string>
  [key: string]: unknown
}

const file = new URL("../package-lock.json", import.meta.url)
const lock = JSON.parse(readFileSync(file, "utf8")) as { packages: Record<string, Entry> }

const systems: Record<string, string> = {
  darwin: "darwin",
  win32: "win32",
  windows: "win32",
  linux: "linux",
  android: "android",
}
const processors: Record<string, string> = { arm64: "arm64", aarch64: "arm64", x64: "x64", armv7: "arm" }

for (const entry of Object.values(lock.packages)) {
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    const path = `node_modules/${name}`
    if (path in lock.packages || !/^\d/.test(version)) continue
    const words = name.split(/[-/]/)
    const os = words.map((word) => systems[word]).find(Boolean)
    const cpu = words.map((word) => processors[word]).find(Boolean)
    if (!os || !cpu) continue
    lock.packages[path] = { version, cpu: [cpu], ...(entry.dev ? { dev: true } : {}), optional: true, os: [os] }
    console.log(`added ${name}@${version}`)
  }
}
lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)))
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`)
