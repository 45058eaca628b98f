import { guardFetch } from "@signet/guard/fetch"
import { createNodeGuard } from "@signet/guard/node"

const guard = createNodeGuard({
  issuer: process.env.ISSUER ?? "",
  audience: "svc-notes",
  appId: "app_01kdvdna00edmtevk5ehj6axhg",
})

export const GET = guardFetch({ guard, requirement: { is: "scope", scope: "notes.read" } }, (_, { caller }) =>
  Response.json({ notes: [], of: caller?.principal.id }),
)
