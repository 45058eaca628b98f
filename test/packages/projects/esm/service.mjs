import { readFileSync } from "node:fs"
import { createServer } from "node:http"
import { callerOf, guardMiddleware } from "@signet/guard/express"
import { createNodeGuard } from "@signet/guard/node"

// Every module of the package loads where no framework is installed.
const { exports } = JSON.parse(readFileSync("node_modules/@signet/guard/package.json", "utf8"))
for (const name of Object.keys(exports).filter((entry) => !entry.endsWith(".json")))
  await import(`@signet/guard${name.slice(1)}`)

const guard = createNodeGuard({
  issuer: process.env.ISSUER,
  audience: "svc-notes",
  appId: "app_01kdvdna00edmtevk5ehj6axhg",
})
const readsNotes = guardMiddleware({ guard, requirement: { is: "scope", scope: "notes.read" } })
const server = createServer((request, response) =>
  readsNotes(request, response, () => response.end(JSON.stringify({ notes: [], of: callerOf(request)?.principal.id }))),
)
server.listen(0, "127.0.0.1", () => console.log(`listening on ${server.address().port}`))
