const assert = require("node:assert")
const { readFileSync } = require("node:fs")
const { createServer } = require("node:http")
const { Refused } = require("@signet/guard")
const { callerOf, guardMiddleware } = require("@signet/guard/express")
const { createNodeGuard } = require("@signet/guard/node")
const { kAuth } = require("@signet/guard/connect")

for (const name of ["canonical", "client", "client-node", "client-web", "guard", "proto"]) {
  const { exports } = JSON.parse(readFileSync(`node_modules/@signet/${name}/package.json`, "utf8"))
  for (const entry of Object.keys(exports)) require(`@signet/${name}${entry.slice(1)}`)
}

// The same package by import, in the same process: another copy, and the same caller, key and refusal.
async function withOtherCopy() {
  const other = await import("@signet/guard")
  const otherExpress = await import("@signet/guard/express")
  const otherConnect = await import("@signet/guard/connect")
  const client = require("@signet/client-node")
  const otherClient = await import("@signet/client-web")
  assert.notStrictEqual(other.Refused, Refused)
  assert(new other.Refused("MISSING_SCOPE") instanceof Refused)
  assert(new Refused("MISSING_SCOPE") instanceof other.Refused)
  assert(!(new Error("MISSING_SCOPE") instanceof Refused))
  assert.strictEqual(otherConnect.kAuth.id, kAuth.id)
  assert(client.isSignetError(new otherClient.SignetError("UNREACHABLE", "offline"), "UNREACHABLE"))
  return otherExpress.callerOf
}

withOtherCopy().then((otherCallerOf) => {
  const guard = createNodeGuard({
    issuer: process.env.ISSUER,
    audience: "svc-notes",
    appId: "app_01kdvdna00edmtevk5ehj6axhg",
  })
  const readsNotes = guardMiddleware({ guard, requirement: { is: "scope", scope: "notes.read" } })
  const server = createServer((request, response) =>
    readsNotes(request, response, () => {
      assert.strictEqual(callerOf(request), otherCallerOf(request))
      response.end(JSON.stringify({ notes: [], of: callerOf(request)?.principal.id }))
    }),
  )
  server.listen(0, "127.0.0.1", () => console.log(`listening on ${server.address().port}`))
})
