import fastify from "fastify"
import { callerOf, guardHook } from "../../fastify.ts"
import { jsonOf, outcomeOf, readsPath, type Target } from "./target.ts"

export const fastifyTarget: Target = (world) => {
  const hasPath = readsPath(world.requirement)
  const app = fastify()
  app.post(hasPath ? "/tenants/:tenant_id" : "/", { preHandler: guardHook(world) }, async (request) => ({
    caller: callerOf(request)?.principal.id ?? null,
  }))
  return async ({ authorization, request }) => {
    const answer = await app.inject({
      method: "POST",
      url: hasPath ? `/tenants/${request.tenant_id}` : "/",
      headers: authorization === null ? {} : { authorization },
      payload: jsonOf(request),
    })
    const body: unknown = answer.json()
    if (answer.statusCode === 200) return { allow: true, caller: JSON.parse(JSON.stringify(body)).caller }
    const challenge = answer.headers["www-authenticate"]
    return {
      ...outcomeOf(body),
      status: answer.statusCode,
      challenge: typeof challenge === "string" ? challenge : null,
    }
  }
}
