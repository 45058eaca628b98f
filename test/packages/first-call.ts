// npm run first-call: how long a newcomer's commands take, from `npm i` to the first authorized call of a service of one's own.
//
// Two folders, as somebody would have them: a server, and an Express service with the guard. Building the packages is not in it.
import { mkdtempSync } from "node:fs"
import { rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { buildPackages, packPackages } from "../../scripts/build-packages.ts"
import { others } from "./others.ts"
import { install, start } from "./project.ts"
import { callsOf, startInstalled, tokenFor } from "./signet.ts"

const root = mkdtempSync(join(tmpdir(), "signet-first-call-"))
const tarballs = packPackages(await buildPackages(join(root, "built")), root)

let sinceMs = performance.now()
const seconds = (): string => {
  const now = performance.now()
  const passed = (now - sinceMs) / 1_000
  sinceMs = now
  return `${passed.toFixed(1).padStart(5)} s`
}
const begunMs = sinceMs
const server = await install(root, tarballs, { name: "server", ours: ["@signet/server"] })
console.log(`${seconds()}  npm i @signet/server`)
const signet = await startInstalled(server)
console.log(`${seconds()}  npx signet-server`)
const ours = ["@signet/guard", "@signet/proto"]
const service = await install(root, tarballs, { name: "service", files: "express", ours, others: others.express })
console.log(`${seconds()}  npm i @signet/guard express`)
const running = await start(service, ["service.mjs"], /listening on (\d+)/, { ISSUER: signet.url })
console.log(`${seconds()}  node service.mjs`)
const tokens = { own: await tokenFor(signet.url, "svc-notes"), others: await tokenFor(signet.url, "auth") }
const { own } = await callsOf(`http://127.0.0.1:${running.match[1]}/notes`, tokens)
console.log(`${seconds()}  sign in, GET /notes: ${own.status}`)
console.log(`${((performance.now() - begunMs) / 1_000).toFixed(1).padStart(5)} s  in all`)
await running.stop()
await signet.stop()
await rm(root, { recursive: true, force: true })
process.exitCode = own.status === 200 ? 0 : 1
