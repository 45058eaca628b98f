import { callerOf, guardMiddleware } from "../../express.ts"
import { jsonOf, outcomeOf, readsPath, type Target } from "./target.ts"

/**
 * A request and a response as Express provides them behind a route and a body parser. test/packages.test.ts uses
 * Express itself.
 */
export const expressTarget: Target = (world) => {
  const hasPath = readsPath(world.requirement)
  const middleware = guardMiddleware(world)
  return async ({ authorization, request }) => {
    const incoming = {
      headers: authorization === null ? {} : { authorization },
      params: hasPath ? { tenant_id: request.tenant_id } : {},
      body: jsonOf(request),
    }
    let answer: { status: number; headers: Record<string, string>; text: string } | undefined
    let head: { status: number; headers: Record<string, string> } = { status: 0, headers: {} }
    let passed = 0
    await middleware(
      incoming,
      {
        writeHead(status, headers) {
          head = { status, headers }
        },
        end(text) {
          answer = { ...head, text }
        },
      },
      (error) => {
        if (error !== undefined) throw error
        passed++
      },
    )
    if (answer === undefined) {
      if (passed !== 1) throw new Error("neither answered nor passed on")
      return { allow: true, caller: callerOf(incoming)?.principal.id ?? null }
    }
    if (passed !== 0) throw new Error("answered and passed on")
    const challenge = answer.headers["www-authenticate"] ?? null
    return { ...outcomeOf(JSON.parse(answer.text)), status: answer.status, challenge }
  }
}
