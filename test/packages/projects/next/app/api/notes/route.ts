import { guardNext } from "@signet/guard/next"
import { createNodeGuard } from "@signet/guard/node"

const guard = createNodeGuard({
  issuer: process.env.ISSUER ?? "",
  audience: "svc-notes",
  appId: "app_01kdvdna00edmtevk5ehj6axhg",
})
const { auth } = guardNext({ guard, requirement: { is: "scope", scope: "notes.read" } })

export async function GET(request: Request): Promise<Response> {
  const { caller, refused } = await auth(request)
  return refused ?? Response.json({ notes: [], of: caller?.principal.id })
}
