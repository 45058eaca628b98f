import { callerOf, guardMiddleware } from "@signet/guard/express"
import { createNodeGuard } from "@signet/guard/node"
import express from "express"

const guard = createNodeGuard({
  issuer: process.env.ISSUER,
  audience: "svc-notes",
  appId: "app_01kdvdna00edmtevk5ehj6axhg",
})
const readsNotes = guardMiddleware({ guard, requirement: { is: "scope", scope: "notes.read" } })

const app = express()
app.get("/notes", readsNotes, (request, response) => {
  response.json({ notes: [], of: callerOf(request)?.principal.id })
})
const server = app.listen(0, "127.0.0.1", () => console.log(`listening on ${server.address().port}`))
