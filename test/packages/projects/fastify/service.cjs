const { callerOf, guardHook } = require("@signet/guard/fastify")
const { createNodeGuard } = require("@signet/guard/node")
const fastify = require("fastify")

const guard = createNodeGuard({
  issuer: process.env.ISSUER,
  audience: "svc-notes",
  appId: "app_01kdvdna00edmtevk5ehj6axhg",
})
const readsNotes = guardHook({ guard, requirement: { is: "scope", scope: "notes.read" } })

const app = fastify()
app.get("/notes", { preHandler: readsNotes }, async (request) => ({ notes: [], of: callerOf(request)?.principal.id }))
app.listen({ port: 0, host: "127.0.0.1" }).then(() => console.log(`listening on ${app.server.address().port}`))
