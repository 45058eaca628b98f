import { serve } from "@hono/node-server"
import { guardFetch } from "@signet/guard/fetch"
import { createNodeGuard } from "@signet/guard/node"
import { Hono } from "hono"

const guard = createNodeGuard({
  issuer: process.env.ISSUER,
  audience: "svc-notes",
  appId: "app_01kdvdna00edmtevk5ehj6axhg",
})
const readNotes = guardFetch({ guard, requirement: { is: "scope", scope: "notes.read" } }, (_, { caller }) =>
  Response.json({ notes: [], of: caller?.principal.id }),
)

const app = new Hono()
app.get("/notes", (context) => readNotes(context.req.raw))
serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }, ({ port }) => console.log(`listening on ${port}`))
