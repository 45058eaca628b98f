import { guardFetch } from "../../fetch.ts"
import { jsonOf, outcomeOf, readsPath, type Target } from "./target.ts"

export const fetchTarget: Target = (world) => {
  const hasPath = readsPath(world.requirement)
  const handler = guardFetch({ ...world, ...(hasPath ? { path: "/tenants/{tenant_id}" } : {}) }, (_, { caller }) =>
    Response.json({ caller: caller?.principal.id ?? null }),
  )
  return async ({ authorization, request }) => {
    const headers = new Headers({ "content-type": "application/json" })
    if (authorization !== null) headers.set("authorization", authorization)
    const url = `https://notes.example/${hasPath ? `tenants/${request.tenant_id}` : ""}`
    const answer = await handler(new Request(url, { method: "POST", headers, body: JSON.stringify(jsonOf(request)) }))
    const body: unknown = await answer.json()
    if (answer.status === 200) return { allow: true, caller: JSON.parse(JSON.stringify(body)).caller }
    const outcome = outcomeOf(body)
    return { ...outcome, status: answer.status, challenge: answer.headers.get("www-authenticate") }
  }
}
